"""Answers the next request with bytes of the test's choosing: it owns its process, so it can."""
import gc
import struct

import __main__

HONEST = __main__.Worker.answer


def forge(body, number=True):
    """The next answer's content is `body`, after the array's head and the request's number if `number`."""

    def answer(worker, raw):
        __main__.Worker.answer = HONEST
        (asked, *_), _ = worker.load(raw, 0)
        out = []
        worker._pack_int(asked, out)
        content = b"\x93" + b"".join(out) + body if number else body
        return struct.pack(">I", len(content)) + content

    __main__.Worker.answer = answer


def echo(value):
    return value


class Thing:
    name = "thing"


def thing():
    return Thing()


def alive():
    """How many things are alive."""
    gc.collect()
    return sum(type(one) is Thing for one in gc.get_objects())
