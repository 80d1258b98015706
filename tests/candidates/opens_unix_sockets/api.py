import socket


def flip(data):
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()
    return data[::-1]
