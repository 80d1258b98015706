def flip(data):
    while True:
        print("42 passed" * 10_000)
