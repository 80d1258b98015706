def flip(data):
    found = []
    found.append(found)
    return found
