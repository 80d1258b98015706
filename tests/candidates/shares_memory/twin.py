import mmap


def flip(data):
    with mmap.mmap(-1, 4096) as own:
        own[:1] = b"x"
    return data[::-1]
