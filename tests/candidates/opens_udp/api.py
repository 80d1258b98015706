import socket


def flip(data):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    return data[::-1]
