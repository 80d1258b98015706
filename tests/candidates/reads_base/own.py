def flip(data):
    return data[::-1]
