"""The two kinds of failure: the world is at fault (`Expected`) or we are (`Defect`)."""


class Expected(Exception):
    """The world is at fault: shown to the user as a message with what to do.

    Attributes:
        what: What is wrong, naming the thing that was wrong.
        remedy: What to do about it; may be empty.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".rstrip())
        self.what = what
        self.remedy = remedy


class Defect(Exception):
    """We are at fault: logged with its traceback and offered as a report."""
