"""Stops: which fits one ends, and how it is known that they end.

Keras' `fit` looks at `model.stop_training` after each step and epoch. Two things come between.
A fit that begins sets it to False, so one of the same model within a callback takes back a stop of
the fit around it: a callback behind all others sets it again. And a loop of the script's own may
never look at it: whether it ends is only known when it does, or when its next epoch begins.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.callback_base import with_keras_callback
from kmonitor_agent.recording.action_requests import Request
from kmonitor_agent.recording.fit import Fit

IGNORED: Final = "the loop goes on: it does not look at model.stop_training, which was set to True"
ENDED_BEFORE: Final = "the fit that it was meant for had ended"


class StopTail:
    """Behind all other callbacks of a fit that was told to stop: none of them takes that back."""

    model: Any

    def __init__(self, fit: Fit) -> None:
        super().__init__()
        self._fit = fit
        # tf_keras: turning logs into numbers for us would make every step wait for the device.
        self._supports_tf_logs = True

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """All others have seen the step."""
        del batch, logs
        self._stop()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """All others have seen the epoch."""
        del epoch, logs
        self._stop()

    def _stop(self) -> None:
        model = self._fit.model()
        if self._fit.is_open and model is not None:
            model.stop_training = True


class Stopping:
    """Orders stops and settles their requests; on the threads that train."""

    def __init__(
        self,
        open_fits: Callable[[], Sequence[Fit]],
        finish: Callable[[Fit, Request, int, str], None],
    ) -> None:
        """Keep who knows.

        Args:
            open_fits: The run's open fits, in the order of their begin.
            finish: Keeps the record of a stop: the fit, who asked, the steps done in its epoch,
                and why it did not end; empty when it did.
        """
        self._open_fits = open_fits
        self._finish = finish

    def stop(self, fit: Fit, request: Request, step: int) -> None:
        """End what was asked for.

        Args:
            fit: The one at whose safe point this runs.
            request: For its stop, that of another fit, or of the run.
            step: Steps done in its epoch.
        """
        targets = self._targets(fit, request)
        for each in targets:
            order(each)
        unsure = [each for each in targets if each.origin.is_own_loop]
        if unsure:
            # The outermost ends last.
            unsure[0].stops.append((request, step))
        else:
            self._finish(fit, request, step, "" if targets else ENDED_BEFORE)

    def fit_began(self, fit: Fit) -> None:
        """A fit within those that a stop of the run is about to end ends too, after a step."""
        if any(each.is_run_stopping for each in self._around(fit)):
            order(fit)
            fit.is_run_stopping = True

    def epoch_began(self, fit: Fit) -> None:
        """A loop of the script's own went on although it was told to stop."""
        self._settle(fit, IGNORED)

    def fit_ended(self, fit: Fit) -> None:
        """It is over, however that came about."""
        self._settle(fit, "")
        token = None if fit.origin.token is None else fit.origin.token()
        if token is not None and fit.stop_tail in token.callbacks:
            token.callbacks.remove(fit.stop_tail)
        fit.stop_tail = None

    def _settle(self, fit: Fit, why: str) -> None:
        stops, fit.stops = fit.stops, []
        for request, step in stops:
            self._finish(fit, request, step, why)

    def _targets(self, fit: Fit, request: Request) -> list[Fit]:
        """The fits to end, the outermost first."""
        if request.of == "run":
            around = self._around(fit)
            for each in around:
                each.is_run_stopping = True
            return around
        if request.fit is None:
            return [fit]
        return [each for each in self._open_fits() if each.ordinal == request.fit]

    def _around(self, fit: Fit) -> list[Fit]:
        """The fits that this one runs in, and itself, the outermost first."""
        before = [each for each in self._open_fits() if each.ordinal < fit.ordinal]
        return [*(each for each in before if each.origin.thread == fit.origin.thread), fit]


def order(fit: Fit) -> None:
    """Have a fit stop at its next safe point."""
    model = fit.model()
    if model is None:
        return
    model.stop_training = True
    fit.stopped_by_us = True
    token = None if fit.origin.token is None else fit.origin.token()
    if token is not None and fit.stop_tail is None:
        fit.stop_tail = with_keras_callback(StopTail)(fit)
        fit.stop_tail.set_model(model)
        # Keras may be going through this very list, and then comes to what is added to it.
        token.callbacks.append(fit.stop_tail)
