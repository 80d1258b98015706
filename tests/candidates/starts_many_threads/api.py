import threading
import time

threading.stack_size(64 << 10)


def flip(data):
    for _ in range(400):
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    time.sleep(3600)
