"""Messages of set-up: quiet lines of progress, and failures with a remedy."""

import sys


class CannotSetUp(Exception):
    """Set-up cannot go on.

    Attributes:
        what: The problem.
        remedy: Advice to the user; may be several lines.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def say(text: str) -> None:
    """One line of progress, at once also through a pipe."""
    print(f"kmonitor: {text}", flush=True)


def complain(failure: CannotSetUp) -> None:
    """A failure and its remedy, on the error stream."""
    print(f"\nkmonitor: {failure.what}", file=sys.stderr)
    for line in failure.remedy.splitlines():
        print(f"  {line}", file=sys.stderr)
