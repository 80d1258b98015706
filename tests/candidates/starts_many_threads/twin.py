from concurrent.futures import ThreadPoolExecutor


def flip(data):
    with ThreadPoolExecutor(4) as pool:
        return b"".join(pool.map(lambda n: bytes([n]), data[::-1]))
