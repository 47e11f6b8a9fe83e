"""Objects of ours that are closed at the process's exit, the last one added first.

`atexit` has one function for all of them, registered once. `atexit.unregister` would compare each
function of the script by the script's own `__eq__`, and leaves an empty entry behind, which
`atexit._ncallbacks()` counts.
"""

import atexit
from typing import Final, Protocol


class _Closes(Protocol):
    """Its `close` never raises."""

    def close(self) -> None: ...


_MOST_FAILURES: Final = 16
"""Number of failures after which the rest is left: without any memory nothing can be closed."""


class ExitHooks:
    """Any thread may call any method.

    Each is one operation on a dict: a lock might be held for ever in a forked child.
    """

    def __init__(self) -> None:
        self._owners: dict[int, _Closes] = {}
        self._is_registered = False

    def add(self, owner: _Closes) -> None:
        """Close this one before all that were added before; again: from now on."""
        self.remove(owner)
        self._owners[id(owner)] = owner
        if not self._is_registered:
            self._is_registered = True
            atexit.register(self._close_all)

    def remove(self, owner: _Closes) -> None:
        self._owners.pop(id(owner), None)

    def _close_all(self) -> None:
        failures = 0
        while self._owners and failures < _MOST_FAILURES:
            try:
                self._owners.popitem()[1].close()
            except Exception:  # noqa: BLE001 - Python would print it; memory may run out here too
                failures += 1


EXIT_HOOKS: Final = ExitHooks()
