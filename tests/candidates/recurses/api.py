def flip(data):
    return flip(data)
