"""One piece of work on a second thread while the training thread does another; never longer.

For work that lets go of the interpreter for long: checksums, flushing to a disk. Reclaim waits for
it in every case, also when it is interrupted, so that no thread of ours outlives an action.
"""

import contextlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

Result = TypeVar("Result")


class Beside(Generic[Result]):
    """`with Beside(work) as done:` runs `work` beside the block; `done.result()` is its result."""

    def __init__(
        self, work: Callable[[], Result], *, end: Callable[[], None] | None = None
    ) -> None:
        """Nothing runs before the block is entered.

        Args:
            work: Called once, after the block if no thread can start. It uses no framework.
            end: Called when the block is left, for work that waits to be told; None: it ends by
                itself.
        """
        self._work: Callable[[], Result] | None = work
        self._end = end
        self._results: list[Result] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kmonitor-beside", daemon=True)

    def __enter__(self) -> Self:
        # Where no more threads can start the work is done after the block.
        with contextlib.suppress(RuntimeError):
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for the work; what it raised comes with its result."""
        if self._end is not None:
            self._end()
        interrupt: BaseException | None = None
        while self._thread.is_alive():
            try:
                self._thread.join()
            except BaseException as caught:  # noqa: BLE001 - an interrupt comes when the work is done
                interrupt = caught
        self._run()
        if interrupt is not None:
            raise interrupt

    def result(self) -> Result:
        """What the work gave, after the block. Raises: what the work raised."""
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    def _run(self) -> None:
        work, self._work = self._work, None
        if work is None:
            return
        try:
            self._results.append(work())
        except BaseException as exc:  # noqa: BLE001 - it is raised where the result is asked for
            self._failure = exc
