def flip(data):
    return bytearray(data[::-1])
