import subprocess


def flip(data):
    subprocess.run(["/bin/sh", "-c", "exit 0"], check=True)
    return data[::-1]
