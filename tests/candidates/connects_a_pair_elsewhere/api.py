"""Takes the pair that it may have, of another type, and connects one end to a socket outside."""
import socket


def flip(data):
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.close()
    two.close()
    return data[::-1]
