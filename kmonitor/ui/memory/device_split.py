"""Memory of a device in parts: context, the framework's pool, other processes, free."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.memory.totals import BarPart
from kmonitor.ui.runs.readings import RunReadings
from kmonitor.ui.text.formats import bytes_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr

_HUES: Final = {"resident": 0, "transient": 1, "pool": 2, "rest": 3, "others": 5}
_FREE: Final = -1
"""Hue of unused memory."""


@dataclass(frozen=True, slots=True)
class DeviceSplitRow:
    """One part as text.

    Attributes:
        title: Name of the part.
        text: Size of the part, or empty.
        source: Source of the size, or the reason why it is not known.
        hue: Index in the palette; -1: free memory; None: the part is not in the bar.
    """

    title: str
    text: str
    source: str
    hue: int | None


@dataclass(frozen=True, slots=True)
class DeviceSplitState:
    """The bar, its rows, and notes on frequent misunderstandings.

    Attributes:
        title: Name of the memory that is split.
        reach: Length of the whole bar, bytes.
        rows: The parts as text.
        paragraphs: Notes on how to read the numbers, one paragraph each.
        description: Text for a screen reader.
    """

    title: str
    parts: tuple[BarPart, ...]
    reach: float
    rows: tuple[DeviceSplitRow, ...]
    paragraphs: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class ResidentMemory:
    """Bytes that stay allocated between steps, and their source; None: not known."""

    n_bytes: float | None
    source: str


class _Split:
    """Splits the readings; a part that cannot be separated stays in the part next to it."""

    def __init__(self, readings: RunReadings, memory: ResidentMemory, backend: str) -> None:
        self._readings = readings
        self._resident_memory = memory
        self._backend = backend
        self.parts: list[BarPart] = []
        self.rows: list[DeviceSplitRow] = []
        self.total = self.value("device_total_bytes")
        self.used = self.value("device_used_bytes")
        self.process = self.value("device_process_bytes")
        self.in_use = self.value("allocator_in_use_bytes")
        self.pool = self.value("allocator_pool_bytes")

    def value(self, field: str) -> float | None:
        return self._readings.value(field)

    def source(self, field: str) -> str:
        source = self._readings.source(field)
        if source is None:
            is_known = self.value(field) is not None
            return tr("source unknown") if is_known else tr("not reported by this run")
        return translated_text(source.source or source.absent)

    def add(self, hue: int, title: str, n_bytes: float, source: str) -> None:
        size = max(0.0, n_bytes)
        text = bytes_text(size)
        self.parts.append(BarPart(size, hue, title, text, is_transient=hue == _HUES["transient"]))
        self.rows.append(DeviceSplitRow(title, text, source, hue))

    def lack(self, title: str, why: str) -> None:
        self.rows.append(DeviceSplitRow(title, "", why, None))

    def build(self) -> None:
        self._add_in_use()
        self._pool()
        self._rest()
        self._add_others()

    def _add_in_use(self) -> None:
        in_use = self.in_use
        resident = self._resident_memory.n_bytes
        source = self.source("allocator_in_use_bytes")
        if in_use is None:
            self.lack(tr("In use by the framework"), source)
            return
        if resident is None:
            self.add(_HUES["resident"], tr("In use by the framework"), in_use, source)
            self.lack(tr("Resident and transient"), self._resident_memory.source)
            return
        shown_bytes = min(resident, in_use)
        self.add(
            _HUES["resident"],
            tr("In use, resident: weights, optimizer, states"),
            shown_bytes,
            self._resident_memory.source,
        )
        self.add(_HUES["transient"], tr("In use, transient: at this moment in the step"),
                 in_use - shown_bytes, source)  # fmt: skip

    def _pool(self) -> None:
        if self.pool is not None and self.in_use is not None:
            self.add(
                _HUES["pool"],
                tr("Free inside the framework's pool"),
                self.pool - self.in_use,
                self.source("allocator_pool_bytes"),
            )
        elif self.in_use is not None:
            why = (
                tr("TensorFlow does not report the size of its pool")
                if self._backend == "tensorflow"
                else self.source("allocator_pool_bytes")
            )
            self.lack(tr("Free inside the framework's pool"), why)

    def _rest(self) -> None:
        source = self.source("device_process_bytes")
        if self.process is None:
            self.lack(tr("Context and other memory of this process"), source)
            return
        known = self.pool if self.pool is not None else self.in_use
        title = (
            tr("Context and other memory of this process")
            if self.pool is not None
            else tr("Context, free pool and other memory of this process")
        )
        self.add(_HUES["rest"], title, self.process - (known or 0.0), source)

    def _add_others(self) -> None:
        if self.used is None:
            self.lack(tr("Other processes"), self.source("device_used_bytes"))
            return
        mine = self.process if self.process is not None else self.pool or self.in_use or 0.0
        title = (
            tr("Other processes")
            if self.process is not None
            else tr("Other memory of this process, and other processes")
        )
        self.add(_HUES["others"], title, self.used - mine, self.source("device_used_bytes"))
        if self.total is not None:
            self.add(_FREE, tr("Free"), self.total - self.used, self.source("device_total_bytes"))


def device_split_state(
    readings: RunReadings, memory: ResidentMemory, backend: str
) -> DeviceSplitState:
    """Split the memory of a run's device, as far as it can be read.

    Args:
        memory: Memory of the run's weights and optimizer.
    """
    split = _Split(readings, memory, backend)
    has_device = split.total is not None or split.used is not None
    split.build()
    length = sum(part.n_bytes for part in split.parts)
    title = tr("VRAM") if has_device else tr("Memory of the framework's allocator")
    row_texts = [f"{row.title} {row.text}" for row in split.rows if row.text]
    return DeviceSplitState(
        title=title,
        parts=tuple(split.parts),
        reach=max(split.total or 0.0, length, 1.0),
        rows=tuple(split.rows),
        paragraphs=tuple(_explanation(backend, has_device=has_device)),
        description=". ".join((title, *row_texts)),
    )


def _explanation(backend: str, *, has_device: bool) -> list[str]:
    paragraphs: list[str] = []
    if not has_device:
        paragraphs.append(
            tr(
                "No GPU: these numbers come from the framework's CPU allocator, whose memory is"
                " part of the process's RAM."
            )
        )
    if backend == "tensorflow":
        paragraphs.append(
            tr(
                "TensorFlow keeps VRAM until its process ends: after a reload, the driver "
                "and nvidia-smi still show the same total, and only the amount in use "
                "inside the pool decreases. Free memory inside the pool is available to "
                "this process, but not to others."
            )
        )
        paragraphs.append(
            tr(
                "Unless memory growth is enabled, TensorFlow allocates nearly all of the "
                "VRAM at startup, so a full GPU does not show how much the model needs."
            )
        )
    elif backend == "torch":
        paragraphs.append(
            tr(
                "PyTorch keeps freed memory in its pool. torch.cuda.empty_cache() returns free"
                " memory to the driver; it does not help PyTorch itself."
            )
        )
    elif backend == "jax":
        paragraphs.append(
            tr(
                "Unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set, JAX preallocates three "
                "quarters of the VRAM at startup, so a full GPU does not show how much the model "
                "needs."
            )
        )
    paragraphs.append(
        tr(
            "The context is what the driver's libraries load for each process, a few hundred"
            " MiB; it cannot be read separately."
        )
    )
    return paragraphs
