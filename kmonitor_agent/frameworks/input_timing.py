# pyright: basic
"""Time that steps wait for their input.

On JAX and PyTorch Keras takes each batch from a Python iterator: in steps that are timed it is
read through a `map` that notes the times. With TensorFlow a batch is taken within the step's
graph. There the runtime itself keeps the time between one element and the request for the next,
for the last 100 elements (`tf.data.experimental.get_model_proto`, from 20 us on): the rest of the
time is waiting. It drops times of 10 s and more (`Model::RecordIteratorGapTime`).

An execution of several steps requests elements while it computes. After its last element nothing
is requested: the time from there to its end tells how far the steps are behind their input.
"""

import sys
import weakref
from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter
from typing import Any, Final

from kmonitor_agent.frameworks.base import missing_name_text
from kmonitor_agent.frameworks.script_values import (
    class_module,
    class_name,
    instance_dict,
    is_known_class,
)

MOST_GAPS: Final = 100
"""Number of times between elements that TensorFlow keeps."""
LONGEST_GAP_S: Final = 9.9
"""Length from which TensorFlow may drop such a time, seconds: 10 s, less what is beside it."""
TYPICAL_OF: Final = 9
"""Number of times between elements, or between executions, whose median is the typical one."""
_OVERLAPPED: Final = 0.5
"""Maximum time between elements, relative to a step's, where steps overlap with requests."""

_INNER: Final = "_epoch_iterator"
_CURRENT: Final = "_current_iterator"

NO_ITERATOR: Final = "the Keras iterator over the data was not found"
_NO_AUTOTUNING: Final = (
    "tf.data reports no times where autotuning is off; Keras turns it off for a PyDataset with"
    " workers, but not with workers=1"
)


class PythonInput:
    """Data that Keras takes from a Python iterator; for the training thread.

    Attributes:
        waited_s: Time waited for batches that were timed, seconds.
        batches: Number of these batches.
        source: Source of the time.
        absent: Reason why it is unknown; empty if it is known.
    """

    source: str = "the Keras iterator over the data, in timed steps"

    def __init__(self, epoch_iterator: Any) -> None:
        self.absent = ""
        self.waited_s = 0.0
        self.batches = 0
        self._ref = weakref.ref(epoch_iterator)
        self._steps: Iterator[Any] | None = None
        self._timed: Iterator[Any] | None = None

    def begin(self) -> None:
        """Time the batches that Keras requests from now on.

        On JAX it has requested that of the step that begins, and takes it within that step.
        """
        own = self._own()
        steps = own.get(_INNER)
        if steps is not None and steps is not self._timed:
            # By `map`, whose frame is none: the script's data are called by Keras' frames alone.
            self._steps = steps
            self._timed = map(self._step, steps)
            own[_INNER] = self._timed

    def end(self) -> None:
        """Restore Keras' own iterator."""
        own = self._own()
        if self._timed is not None and own.get(_INNER) is self._timed:
            own[_INNER] = self._steps
        self._steps = self._timed = None

    def _step(self, step: tuple[int, int, Iterator[Any]]) -> tuple[int, int, Iterator[Any]]:
        begin, end, iterator = step
        clock = iter(perf_counter, None)  # read before each batch is requested
        return begin, end, map(self._taken, zip(clock, iterator, strict=False))

    def _taken(self, batch: tuple[float, Any]) -> Any:
        began_s, data = batch
        if self._timed is not None:
            self.waited_s += perf_counter() - began_s
            self.batches += 1
        return data

    def _own(self) -> dict[str, Any]:
        return instance_dict(self._ref())


class TensorFlowInput:
    """Data that TensorFlow takes within the step; for the training thread.

    Attributes:
        waited_s: Time waited for the elements that were measured in this epoch, seconds.
        elements: Number of these elements.
        per_execution: Elements that one execution of the train function takes.
        outside_s: Typical time between two executions, seconds.
        shortest_s: Shortest execution so far, seconds; 0: unknown.
        gap_s: Typical time between elements, as last read, seconds.
    """

    source: str = "tf.data: time between elements; the rest is time spent waiting"

    def __init__(self, epoch_iterator: Any) -> None:
        self.absent = ""
        self.waited_s = 0.0
        self.elements = 0
        self.per_execution = 1
        self.outside_s = 0.0
        self.shortest_s = 0.0
        self.gap_s = 0.0
        self._last_gap_s = 0.0
        self._ref = weakref.ref(epoch_iterator)
        self._from: tuple[int, float] = (0, 0.0)
        self._unsure: tuple[int, float, list[float]] | None = None

    @property
    def is_held(self) -> bool:
        """True if Keras holds the iterator; it drops one of unknown length at its end."""
        return self._iterator() is not None

    def begin_epoch(self, elements: int, now_s: float, waited_s: float = 0.0) -> None:
        """Begin measuring at the first step of an epoch, or the first one after a trace.

        Args:
            elements: Number of elements taken so far in the epoch.
            waited_s: Wait for them, seconds.
        """
        self.waited_s = waited_s
        self.elements = 0
        self.begin_again(elements, now_s)

    def begin_again(self, elements: int, now_s: float) -> None:
        """Leave out the time since the last reading; the elements in it are not counted."""
        self._from = elements, now_s
        self._unsure = None

    def check_gap(self, elements: int, now_s: float) -> None:
        """Have the next reading leave out a long step if the gap behind it was dropped.

        Such a step did not wait. Gaps between the elements of one execution are not checked.

        Args:
            elements: Number of elements taken until the step's end.
            now_s: Time at which the step ended.
        """
        gaps = self._gaps()
        self._unsure = None if gaps is None else (elements, now_s, gaps)

    def read(self, elements: int, at_s: float, newer: int = 1) -> bool:
        """Add the time waited since the last reading, or begin again if that is too long ago.

        The time after the newest element is not over; where `newer` is 0, the mean of the others
        is used.

        Args:
            elements: Number of elements taken in the epoch until `at_s`.
            at_s: Time at which a step began, by `perf_counter`; 0: unknown.
            newer: Number of elements taken since then.

        Returns:
            False if nothing was measured: call `read` again within `MOST_GAPS` elements.
        """
        self._settle(elements + newer)
        before, from_s = self._from
        taken = elements - before
        if self.absent:
            return True
        if taken < 1 or at_s <= from_s:
            if taken == 0:
                # Nothing was requested meanwhile: that was a hook before the step.
                self._from = elements, max(from_s, at_s)
            return False
        gaps = self._gaps() if taken + newer <= MOST_GAPS else None
        if gaps is None:
            self._from = elements, at_s
            return bool(self.absent)
        end = len(gaps) - max(0, newer - 1)
        newest = gaps[max(0, end - taken + (newer == 0)) : end]
        if not newest:
            return False
        self.gap_s = median(gaps[-TYPICAL_OF:])
        waited_s = at_s - from_s - sum(newest) / len(newest) * taken
        if self.per_execution > 1 and waited_s > 0.0:
            waited_s *= self._waited_fraction(newest, waited_s / taken, is_over=newer == 0)
        self.waited_s += waited_s
        self.elements += taken
        self._from = elements, at_s
        return True

    def _waited_fraction(self, gaps: Sequence[float], wait_s: float, *, is_over: bool) -> float:
        """Part of the wait for elements in which no step computes, 0..1.

        Args:
            gaps: Times after elements, seconds; where an execution `is_over`, the newest is that
                after its last element but one.
            wait_s: Mean wait for an element, seconds.
        """
        each = self.per_execution
        last = gaps[::-1][each - 1 if is_over else 0 :: each]
        inner = [gap_s for at, gap_s in enumerate(gaps[::-1], int(is_over)) if at % each]
        if not last:
            last = [self._last_gap_s]
        if not inner:
            return 1.0
        self._last_gap_s = median(last)
        left_s = self._last_gap_s - self.outside_s
        if sum(inner) / len(inner) > _OVERLAPPED * left_s:
            return 1.0
        if left_s > wait_s:  # they wait for the first element of an execution only
            return 1.0 / each
        # On a busy machine it takes a while until the script goes on after the last step.
        step_s = min(left_s, self.shortest_s / each) if self.shortest_s else left_s
        return 1.0 - step_s / wait_s * (each - 1) / each

    def _settle(self, delivered: int) -> None:
        if self._unsure is None:
            return
        ended, ended_s, before = self._unsure
        self._unsure = None
        gaps = self._gaps()
        added = delivered - ended
        if gaps is None or not 0 < added < MOST_GAPS:
            return
        complete = len(before) + added
        kept = max(0, len(gaps) - added)
        if len(gaps) < min(MOST_GAPS, complete) or gaps[:kept] != before[len(before) - kept :]:
            self._from = ended, ended_s

    def _gaps(self) -> list[float] | None:
        """Seconds between the last elements; None where they cannot be read, see `absent`."""
        iterator = self._iterator()
        resource = instance_dict(iterator).get("_iterator_resource")
        if resource is None or not is_known_class(type(iterator)):
            self.absent = self.absent or _why_no_resource(iterator)
            return None
        tf: Any = sys.modules["tensorflow"]
        try:
            model = tf.data.experimental.get_model_proto(iterator)
        except AttributeError as exc:
            self.absent = missing_name_text("TensorFlow", exc)[:300]
        except (ValueError, TypeError, tf.errors.OpError) as exc:
            self.absent = _why_no_times(exc)
        else:
            return [1e-6 * gap for gap in list(model.gap_times)[-MOST_GAPS:]]
        return None

    def _iterator(self) -> Any:
        own = instance_dict(self._ref())
        current = own.get(_CURRENT)
        if current is not None:
            return current
        frame = getattr(own.get(_INNER), "gi_frame", None)
        return None if frame is None else frame.f_locals.get("iterator")


def _why_no_times(exc: Exception) -> str:
    if "autotune" in str(exc):
        return _NO_AUTOTUNING
    return f"tf.data does not report its times: {exc}"[:300]


def _why_no_resource(iterator: Any) -> str:
    if iterator is None:
        return NO_ITERATOR
    return f"{class_name(type(iterator))} does not report its time"


def input_timing(epoch_iterator: Any) -> PythonInput | TensorFlowInput | None:
    """Timing of a fit's input; None if it is unknown how to time this Keras.

    Args:
        epoch_iterator: `epoch_iterator` in the frame of Keras' `fit`.
    """
    kind = type(epoch_iterator)
    own = instance_dict(epoch_iterator)
    if epoch_iterator is None or not is_known_class(kind) or _INNER not in own:
        return None
    module = class_module(kind)
    if ".tensorflow." in module:
        return TensorFlowInput(epoch_iterator)
    return PythonInput(epoch_iterator) if ".jax." in module or ".torch." in module else None
