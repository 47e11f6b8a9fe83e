"""Failures that are not bugs of kmonitor."""


class UserError(Exception):
    """Failure with an external cause, shown to the user as a message with a remedy.

    Attributes:
        what: Message that names the failure and the thing concerned.
        remedy: Advice for the user; may be empty.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".rstrip())
        self.what = what
        self.remedy = remedy
