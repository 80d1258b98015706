import socket


def flip(data):
    one, two = socket.socketpair()
    with one, two:
        one.sendall(data[:100])
        two.recv(100)
    return data[::-1]
