"""Foreign texts as terminals may show them."""

import unicodedata


def printable(text: str) -> str:
    """A text from a training without what moves a cursor, colours, or turns a line around.

    A space of any width becomes the ordinary one, every other letter that cannot be seen a mark.
    """
    return "".join(c if c.isprintable() else _seen(c) for c in text)


def _seen(letter: str) -> str:
    return " " if unicodedata.category(letter) == "Zs" else "\N{REPLACEMENT CHARACTER}"
