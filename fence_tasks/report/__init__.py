"""Verdicts for machines and for people: one module a format. Pure."""
