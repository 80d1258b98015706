def flip(data):
    return [[]] * 3_000_000
