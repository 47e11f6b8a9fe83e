"""Failures that are not bugs of ours."""


class UserError(Exception):
    """The world is at fault: shown to the user as a message with what to do.

    Attributes:
        what: What is wrong, naming the thing that was wrong.
        remedy: What to do about it; may be empty.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".rstrip())
        self.what = what
        self.remedy = remedy
