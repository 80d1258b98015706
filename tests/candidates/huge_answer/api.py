def flip(data):
    return bytes(32 << 20)
