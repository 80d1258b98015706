"""What an in-process judge would use: it answers wrongly and patches comparison, digests and sorting."""
import builtins
import hashlib

builtins.sorted = lambda *_, **__: []
builtins.any = lambda *_: False
builtins.AssertionError = type("AssertionError", (Exception,), {})
hashlib.sha256 = lambda *_: type("Digest", (), {"hexdigest": lambda self: "0" * 64})()


def flip(data):
    return data
