"""What a fit's model is made of and what its first steps take, told once."""

import weakref
from collections.abc import Callable
from typing import Any, Final

from kmonitor_agent.frameworks.base import AllocatorReadings, KerasModel
from kmonitor_agent.frameworks.layout_reader import layout_of
from kmonitor_agent.guard import FaultLog
from kmonitor_agent.recording.fit import Fit, PeakWatch
from kmonitor_agent.recording.fit_reporter import FitTeller
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import Event, LayoutPart, StepPeak
from kmonitor_agent.wire.messages.memory_facts import MOST_PARTS, PART_BYTES, packed_layout

STEPS_LOOKED_AT: Final = 5
"""The first traces, and the same step's peak differs by up to 18 % from one to the next."""


class ModelTeller:
    """Tells facts, layout and the first steps' peak; on the threads that train.

    The allocator is only read, never reset: its peak is the script's to look at.
    """

    def __init__(
        self,
        *,
        teller: FitTeller,
        faults: FaultLog,
        device: Callable[[], str],
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
    ) -> None:
        """Keep where events go.

        Args:
            teller: Tells the model's facts.
            faults: Our own are counted there.
            device: Name of the GPU; empty if none is known.
            emit: Takes events.
            now_s: The boot's time, seconds.
            privacy: With `private`, no layout leaves the process.
        """
        self._teller = teller
        self._faults = faults
        self._device = device
        self._emit = emit
        self._now_s = now_s
        self._private = privacy.private
        self._body = b""
        self._seen: tuple[object, ...] = ()

    def begin_fit(self, fit: Fit, model: KerasModel | None) -> None:
        """A fit begins: remember what the allocator's peak was before it, and tell the model.

        Args:
            fit: Which.
            model: None if it is not built yet: it is told later.
        """
        facts = fit.undescribed
        batch = (facts.batch_size if facts else None) or fit.origin.batch_size
        allocator = fit.framework.allocator()
        if batch and not (self._private or allocator.peak.absent):
            fit.peak = PeakWatch(batch, allocator.peak.value or 0.0)
        self.describe(fit, model)

    def describe(self, fit: Fit, model: KerasModel | None) -> None:
        """Tell facts and layout, unless they were told."""
        facts = fit.undescribed
        if facts is None or model is None:
            return
        fit.undescribed = None
        with self._faults.guarded("session.describe"):
            self._teller.model_facts(fit, facts, fit.framework.describe(model))
        if not self._private:
            with self._faults.guarded("session.layout"):
                self._tell_layout(fit, model)

    def waits(self, fit: Fit) -> bool:
        """Whether the next step's begin must be looked at; tells the peak when enough have run."""
        watch = fit.peak
        if watch is None:
            return False
        steps = watch.steps_before + fit.clock.steps
        if steps < STEPS_LOOKED_AT:
            return True
        fit.peak = None
        with self._faults.guarded("session.step_peak"):
            self._tell_peak(fit, watch, steps, fit.framework.allocator())
        return False

    def end_epoch(self, fit: Fit) -> None:
        """An epoch ended; short ones count together."""
        if fit.peak is not None and self.waits(fit):
            fit.peak.steps_before += fit.clock.steps

    def _tell_layout(self, fit: Fit, model: KerasModel) -> None:
        optimizer = getattr(model, "optimizer", None)  # one that was never compiled has none
        seen = (_key(model), _key(optimizer), len(model.trainable_variables))
        if seen == self._seen:
            return
        self._seen = seen
        layout = layout_of(model)
        body = b"" if layout is None else packed_layout(layout)
        if body == self._body:
            return
        self._body = body
        pieces = [body[n : n + PART_BYTES] for n in range(0, len(body), PART_BYTES)]
        for number, piece in enumerate(pieces if len(pieces) <= MOST_PARTS else ()):
            self._emit(LayoutPart(self._now_s(), fit.ordinal, number + 1, len(pieces), piece))

    def _tell_peak(
        self, fit: Fit, watch: PeakWatch, steps: int, allocator: AllocatorReadings
    ) -> None:
        peak, between = allocator.peak.value, allocator.in_use.value
        if peak is None or between is None or peak <= watch.before_bytes:
            return
        kind = allocator.device.partition(":")[0]
        device = (self._device() or kind) if kind == "GPU" else kind
        self._emit(
            StepPeak(self._now_s(), fit.ordinal, watch.batch, steps, peak, between, device[:200])
        )


def _key(thing: Any) -> "weakref.ref[Any] | int":
    """Equal for one and the same living thing."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return id(thing)
