import fence_tasks_no_such_package


def flip(data):
    return data[::-1]
