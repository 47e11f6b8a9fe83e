"""Our metrics in Keras' logs, for callbacks behind ours: TensorBoard, CSVLogger and others."""

import math
import threading
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final, cast

from kmonitor_agent.frameworks.script_values import class_name, items_of, safe_getattr
from kmonitor_agent.probes.held_memory import read_held
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.fit_reporter import LOG_PREFIX
from kmonitor_agent.recording.sampler import Sampler, SamplerTarget
from kmonitor_agent.wire.messages.events import Event, Notice
from kmonitor_agent.wire.messages.fields import MAX_TEXT

LOG_NAMES: Final = tuple(
    f"{LOG_PREFIX}{name}"
    for name in (
        "process_bytes",
        "unique_bytes",
        "vram_bytes",
        "graph_operations",
        "step_time_seconds",
    )
)
"""Names of our logs, the same at every epoch's end: CSVLogger takes its columns from the first
epoch, and keeps them."""

_READERS: Final = frozenset(
    {"CSVLogger", "History", "RemoteMonitor", "TensorBoard"}
    | {"MlflowCallback", "MLflowCallback", "WandbCallback", "WandbMetricsLogger"}
)
"""Classes of callbacks that write every log that they receive."""


class KerasLogWriter:
    """Fills logs for callbacks with `logs=True`; on the threads that train.

    Args:
        sampler: Source of values that only the agent's thread reads.
        now_s: Seconds since the session started.
    """

    def __init__(
        self,
        sampler: Sampler,
        current_target: Callable[[], SamplerTarget],
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
    ) -> None:
        self._sampler = sampler
        self._current_target = current_target
        self._emit = emit
        self._now_s = now_s
        self._is_wanted = self._is_order_reported = False
        self._metrics: dict[int, dict[str, float]] = {}

    def request_logs(self, callback: object, fit: Fit | None) -> None:
        """Request logs for a fit that begins, for one of our callbacks.

        Args:
            fit: The fit; None if this callback does not record it.
        """
        self._is_wanted = True
        self._metrics.pop(threading.get_ident(), None)
        token = None if fit is None else fit.origin.callback_list()
        before = _readers_before(callback, items_of(safe_getattr(token, "callbacks")))
        if before and not self._is_order_reported:
            self._is_order_reported = True
            names = " and ".join(before)
            text = (
                f"{names} before MonitorCallback(logs=True) in the callbacks of fit do not see"
                " kmonitor's logs; put MonitorCallback first"
            )[:MAX_TEXT]
            self._emit(Notice(t_s=self._now_s(), level="warning", code="logs_order", text=text))

    def epoch_ended(self, fit: Fit) -> None:
        """Read the values for the logs of this epoch, before any action changes them."""
        if not self._is_wanted:
            return
        graph = self._current_target().graph
        newest = self._sampler.newest
        in_use = fit.framework.allocator().in_use.value
        values = (
            read_held().value,
            newest.get("ram_unique_bytes"),
            newest.get("vram_bytes") if in_use is None else in_use,
            None if graph is None else graph.operations,
            fit.last_step_s,
        )
        self._metrics[threading.get_ident()] = {
            name: math.nan if value is None else float(value)
            for name, value in zip(LOG_NAMES, values, strict=True)
        }

    def fill(self, logs: object) -> None:
        """Put the values of this thread's newest epoch into its logs; NaN: not read."""
        if not isinstance(logs, MutableMapping):
            return
        metrics = self._metrics.get(threading.get_ident(), {})
        for name in LOG_NAMES:
            # All of them, whatever happened: CSVLogger has a column for each.
            cast("MutableMapping[str, float]", logs).setdefault(name, metrics.get(name, math.nan))


def _readers_before(callback: object, callbacks: Sequence[Any]) -> list[str]:
    listed = list(callbacks)
    if not any(each is callback for each in listed):
        return []  # behind a callback of its own, as `kmonitor_agent.fit` has it
    index = next(n for n, each in enumerate(listed) if each is callback)
    names = (class_name(cast("type[Any]", type(each))) for each in listed[:index])
    return list(dict.fromkeys(name for name in names if name in _READERS))
