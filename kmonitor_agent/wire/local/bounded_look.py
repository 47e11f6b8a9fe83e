"""A look at a path from the script's own thread, for a bounded time.

A disk that hangs (a network file system whose server is away) holds up whoever asks it anything,
for as long as it hangs. What a script writes is checked when a callback is made, so that a mistake
is an error there; a disk that does not answer in time must not hold the script up, and is no
mistake.
"""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

LOOK_S: Final = 0.5
"""How long a disk may take to answer; one that hung once is not asked again until it answers."""

_NAME: Final = "kmonitor-look"


class BoundedLook:
    """Asks on a thread of its own; any thread may call it."""

    def __init__(self, within_s: float = LOOK_S) -> None:
        """Nothing is asked yet.

        Args:
            within_s: How long an answer is waited for, seconds.
        """
        self._within_s = within_s
        self._asking: threading.Thread | None = None

    def sees(self, path: Path, look: Callable[[Path], bool]) -> bool:
        """Whether `look` says so of a path; False where there is no answer in time.

        Args:
            path: What is looked at.
            look: `Path.is_file` or `Path.is_dir`.
        """
        if self._asking is not None and self._asking.is_alive():
            return False
        answers: list[bool] = []

        def ask() -> None:
            with contextlib.suppress(OSError, ValueError):  # may not be looked at: no answer
                answers.append(look(path))

        asking = threading.Thread(target=ask, name=_NAME, daemon=True)
        try:
            asking.start()
        except RuntimeError:  # no thread can be had: nothing is checked
            return False
        self._asking = asking
        asking.join(self._within_s)
        return answers == [True]


DISK: Final = BoundedLook()
"""Of this process."""
