"""Path fence: decide whether a patch by a coding agent may count as verified. Importing this does nothing."""

__version__ = "0.1.0"
