import threading


def flip(data):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(data[::-1]))
    thread.start()
    thread.join()
    return answers[0]
