"""What the others pretend to be: `flip` turns bytes round."""


def flip(data):
    return data[::-1]
