"""The untrusted process: its protocol, its worker, and the client that asks it."""
