"""Marks beside words, so that nothing is told by its colour alone."""

from typing import Final

_MARKS: Final = {"crit": "\u25b2", "warn": "\u25b2", "ok": "\u2713", "accent": "\u25b6"}


def mark_of(tone: str) -> str:
    """The mark of a tone; a point where it has none of its own."""
    return _MARKS.get(tone, "\u25cf")
