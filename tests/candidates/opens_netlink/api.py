import socket


def flip(data):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    return data[::-1]
