def flip(data):
    return bytearray(10 << 30)[::-1]
