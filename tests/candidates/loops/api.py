def flip(data):
    while True:
        pass
