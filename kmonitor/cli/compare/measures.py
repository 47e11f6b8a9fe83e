"""Compared measures of a run, from a hub or from a file of `kmonitor export`."""

import csv
import importlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.cli.common.terminal import terminal_safe
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import event_object
from kmonitor.export.run_export import ENDINGS
from kmonitor.export.table_formats import require_parquet
from kmonitor.ui.text.formats import Unit
from kmonitor_agent.wire.messages.unions import RunSummary

PEAKS: Final[Mapping[str, str]] = {
    "ram": "ram_bytes",
    "vram": "vram_bytes",
    "graph": "graph_operations",
}
"""Measures that are the maximum of all samples, with the samples' field."""

MEASURE_UNITS: Final[Mapping[str, Unit]] = {
    "ram": "bytes",
    "vram": "bytes",
    "graph": "operations",
    "step_time": "seconds",
    "epoch_time": "seconds",
}
"""Units of measures that every run may have, in order; Keras logs are named by themselves."""

MEASURE_TITLES: Final[Mapping[str, str]] = {
    "ram": "RAM, peak",
    "vram": "VRAM, peak",
    "graph": "Graph size, peak",
    "step_time": "Step time, median over all epochs",
    "epoch_time": "Epoch time, median",
}
_BUCKETS: Final = 4000
_LOG: Final = "log:"
_STEP_TIME: Final = "step_times.p50_s"
_MEAN_STEP_TIME: Final = "step_times.mean_s"


class CannotCompare(UserError):
    """A run or file cannot be read, or lacks the measure of a condition."""


@dataclass(slots=True)
class Measures:
    """Measures of one run, collected line by line.

    Attributes:
        name: Name of the run or file.
        epochs: Number of ended epochs.
    """

    name: str
    epochs: int = 0
    _peaks: dict[str, float] = field(default_factory=dict[str, float])
    _step_times: list[float] = field(default_factory=list[float])
    _epoch_times: list[float] = field(default_factory=list[float])
    _logs: dict[str, float] = field(default_factory=dict[str, float])

    def add_peak(self, measure: str, value: float) -> None:
        """Take a reading of one of `PEAKS`."""
        if math.isfinite(value):
            self._peaks[measure] = max(value, self._peaks.get(measure, value))

    def add_line(self, line: Mapping[str, Any]) -> None:
        """Take one line of an export, flat as in CSV."""
        for measure, column in PEAKS.items():
            if (value := _number(line.get(column))) is not None:
                self.add_peak(measure, value)
        if line.get("type") == "graph" and (value := _number(line.get("operations"))) is not None:
            self.add_peak("graph", value)
        if line.get("type") == "epoch_end":
            self._add_epoch(line)

    def _add_epoch(self, line: Mapping[str, Any]) -> None:
        self.epochs += 1
        median_s = _number(line.get(_STEP_TIME))
        mean_s = _number(line.get(_MEAN_STEP_TIME))
        if (value := mean_s if median_s is None else median_s) is not None:
            self._step_times.append(value)
        if (value := _number(line.get("seconds"))) is not None:
            self._epoch_times.append(value)
        for column, text in line.items():
            if column.startswith(_LOG) and (value := _number(text)) is not None:
                self._logs[column.removeprefix(_LOG)] = value

    @property
    def values(self) -> dict[str, float]:
        found = dict(self._peaks)
        if self._step_times:
            found["step_time"] = median(self._step_times)
        if self._epoch_times:
            found["epoch_time"] = median(self._epoch_times)
        return {**{name: found[name] for name in MEASURE_UNITS if name in found}, **self._logs}


def is_export_file(text: str) -> bool:
    """True if a word on the command line means a file rather than a run."""
    path = Path(text)
    return path.suffix.casefold() in ENDINGS or ("/" in text and path.exists())


def measures_of_run(client: HubClient, run: RunSummary) -> Measures:
    """Measures of a run from a hub. Raises: see `HubClient`."""
    measures = Measures(run.name)
    reply = client.series(run.run, list(PEAKS.values()), buckets=_BUCKETS)
    names = {column: measure for measure, column in PEAKS.items()}
    for column in reply.columns:
        # Thinning keeps the highest of each bucket.
        for value in memoryview(column.values).cast("d"):
            measures.add_peak(names[column.name], value)
    for row in client.all_rows(run.run, ("epoch_end", "graph")):
        measures.add_line(_flat(event_object(row)))
    return measures


def measures_of_file(path: Path) -> Measures:
    """Return the measures of an exported file.

    Raises:
        CannotCompare: The file cannot be read, or is no export.
    """
    measures = Measures(path.name)
    try:
        for line in _lines(path):
            measures.add_line(line)
    except OSError as exc:
        why = exc.strerror or str(exc)
        raise CannotCompare(f"{terminal_safe(str(path))} cannot be read: {why}.") from exc
    except (ValueError, csv.Error) as exc:
        what = f"{terminal_safe(str(path))} is not an export of a run: {terminal_safe(str(exc))}."
        raise CannotCompare(what, "Write one with: kmonitor export RUN --output FILE") from exc
    if not measures.values:
        what = f"{terminal_safe(str(path))} contains no samples or epochs."
        raise CannotCompare(what, "Write one with: kmonitor export RUN --output FILE")
    return measures


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    match ENDINGS.get(path.suffix.casefold()):
        case "json":
            with path.open(encoding="utf-8") as file:
                for text in file:
                    yield _flat(msgspec.json.decode(text, type=dict[str, Any]))
        case "csv":
            with path.open(encoding="utf-8", newline="") as file:
                yield from csv.DictReader(file)
        case "parquet":
            yield from _parquet_lines(path)
        case _:
            raise ValueError("its name does not end in .csv, .json, .jsonl or .parquet")


def _parquet_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    require_parquet()
    parquet: Any = importlib.import_module("pyarrow.parquet")
    # Its own exception for a damaged file is a ValueError.
    for batch in parquet.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()


def _flat(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event as one line of a table, with the compared fields."""
    line: dict[str, Any] = dict(event)
    times: Mapping[str, Any] = event.get("step_times") or {}
    line |= {_STEP_TIME: times.get("p50_s"), _MEAN_STEP_TIME: times.get("mean_s")}
    if event.get("type") == "epoch_end":
        logs: Mapping[str, Any] = event.get("logs") or {}
        line |= {f"{_LOG}{name}": value for name, value in logs.items()}
    return line


def _number(value: object) -> float | None:
    """The value as a finite number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or value == "":
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def known_measures(both: Iterable[Measures]) -> list[str]:
    """Names of all measures that any of these has, in order."""
    found = dict.fromkeys(name for each in both for name in each.values)
    own = [name for name in MEASURE_UNITS if name in found]
    return own + [name for name in found if name not in MEASURE_UNITS]
