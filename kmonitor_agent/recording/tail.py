"""The callback behind all others, which sees a fit when History and EarlyStopping have seen it."""

from collections.abc import Callable
from typing import Any

from kmonitor_agent.guard import FaultLog, came_from_a_handler
from kmonitor_agent.reclaim.restart.fit_state import CannotResume
from kmonitor_agent.recording.resumable_fit import Resumption


class Tail:
    """Added to a supervised fit by the session; takes up, saves and leaves.

    Unlike our other hooks these may end the fit: by `CannotResume`, since going on would change
    the training's result, and by `SystemExit`, which was asked for.
    """

    model: Any

    def __init__(
        self,
        resumption: Resumption,
        callbacks: list[Any],
        at_epoch_end: Callable[[Any, list[Any]], None],
        at_fit_end: Callable[[Any, list[Any]], None],
        faults: FaultLog,
    ) -> None:
        """Keep whom to tell.

        Args:
            resumption: Of this fit.
            callbacks: The fit's list of callbacks, this one last.
            at_epoch_end: Called with model and callbacks when all others were told of an end.
            at_fit_end: Likewise.
            faults: Our own.
        """
        super().__init__()
        self._resumption = resumption
        self._callbacks = callbacks
        self._at_epoch_end = at_epoch_end
        self._at_fit_end = at_fit_end
        self._faults = faults
        self._failure: CannotResume | None = None
        # tf_keras: turning logs into numbers for us would make every step wait for the device.
        self._supports_tf_logs = True

    def refuse(self, failure: CannotResume) -> None:
        """Have the fit fail: its saved state cannot be read."""
        self._failure = failure

    def on_train_begin(self, logs: Any = None) -> None:
        """All others are reset: take up what was saved."""
        del logs
        if self._failure is not None:
            raise self._failure
        self._guard(lambda: self._resumption.begin(self.model, self._callbacks))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """`fit` knows its first epoch by now."""
        del epoch, logs
        self._guard(lambda: self._resumption.begun(self.model))

    def on_test_begin(self, logs: Any = None) -> None:
        """A validation begins."""
        del logs
        self._resumption.evaluated()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """All others have seen the epoch."""
        del epoch, logs
        self._guard(lambda: self._at_epoch_end(self.model, self._callbacks))

    def on_train_end(self, logs: Any = None) -> None:
        """All others have seen the fit's end."""
        del logs
        self._guard(lambda: self._at_fit_end(self.model, self._callbacks))

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except CannotResume:
            raise
        except Exception as exc:
            if came_from_a_handler(exc):
                raise
            self._faults.record("session.tail", exc)
