"""The table of samples and epochs: columns, and writers for CSV, JSON lines and Parquet.

Columns: `seq`, `t_s` and `type` ("sample" or "epoch_end"), then every field of a sample, then
those of an epoch's end that a sample lacks (step times as `step_times.p50_s` and so on, the parts
of the epoch's time as `parts.input_s` and so on), then one column `log:NAME` for each Keras log at
an epoch's end, `batch:NAME` for a log within an epoch at the time of the sample, and `deviceN_...`
for each further device. Units are bytes, seconds, operations, degrees C and watts; an empty cell
was not read. JSON lines contain all events unchanged; Parquet needs the optional pyarrow.
"""

import csv
import functools
import importlib
import io
import itertools
import operator
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TextIO

import msgspec

from kmonitor.base.atomic_file import atomic_file
from kmonitor.base.errors import UserError
from kmonitor.base.installation import how_to_add
from kmonitor.base.plain_data import fields_of, json_text
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochParts,
    Event,
    FieldSource,
    Sample,
    StepTimes,
)
from kmonitor_agent.wire.messages.readings import STEP_LOG_PREFIX, extra_sample_values
from kmonitor_agent.wire.messages.unions import EventRow
from kmonitor_agent.wire.text import printable

TABLE_KINDS: Final = ("sample", "epoch_end")
"""Event types in the table."""

_APART: Final = ("logs", "step_times", "parts", "more_devices")
_STEPS: Final = "step_times."
_PARTS: Final = "parts."
_PART_FIELDS: Final = tuple(name for name in EpochParts.__struct_fields__ if name != "callbacks")
_LOG: Final = "log:"
_WHOLE: Final = frozenset({"seq", "fit", "epoch", "step", "steps", f"{_STEPS}count"})
_SUFFIX_UNITS: Final = {"_bytes": "bytes", "_s": "seconds", "_c": "degrees C", "_w": "W"}
_UNITS: Final = {
    "seconds": "seconds",
    "graph_operations": "operations",
    "functions": "functions",
    "steps": "steps",
    "step": "steps",
    f"{_STEPS}count": "steps",
}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column.

    Attributes:
        name: Title of the column.
        kind: Type of the cells.
        unit: "bytes", "seconds", ...; empty for values without unit.
        source: Source of the values; empty if the run did not report one.
        absent: Reason why the column is empty; empty if values were read.
    """

    name: str
    kind: Literal["text", "whole", "number"]
    unit: str = ""
    source: str = ""
    absent: str = ""


def table_columns(
    log_names: Iterable[str], sources: Iterable[FieldSource], *, extras: Iterable[str] = ()
) -> list[TableColumn]:
    """Return the columns of a run; the same for every run except for logs and further devices.

    Args:
        log_names: Names of the Keras logs, in the order of their appearance.
        sources: Sources reported by the run; the last one of a field applies.
        extras: Further columns in samples of this run.
    """
    names = ["seq", "t_s", "type", *_fields_of(Sample)]
    names += _fields_of(EpochEnded)
    names += [f"{_STEPS}{name}" for name in StepTimes.__struct_fields__]
    names += [f"{_PARTS}{name}" for name in _PART_FIELDS]
    names += [f"{_LOG}{name}" for name in log_names]
    names += extras
    known = {source.field: source for source in sources}
    return [_column(name, known.get(name)) for name in dict.fromkeys(names)]


Line = Sequence[Any]
"""Cells of one line, in the order of the columns; None: not read."""


class TableLines:
    """Builds lines of one table. A sample takes 3 µs, as there may be millions."""

    def __init__(
        self, columns: Sequence[TableColumn], given: Mapping[str, str] | None = None
    ) -> None:
        """Args: `given`: Constant cells, by column."""
        self._given = dict(given or {})
        names = [column.name for column in columns]
        self._numbers = {name: number for number, name in enumerate(names)}
        fields = ("seq", "t_s", "type", *self._given, *(f".{n}" for n in Sample.__struct_fields__))
        found = {field.removeprefix("."): at for at, field in reversed([*enumerate(fields)])}
        # Columns that a sample lacks are taken from an extra cell, which is None.
        self._of_sample = operator.itemgetter(*(found.get(name, len(fields)) for name in names))
        self._before = ("sample", *self._given.values())

    def line(self, row: EventRow, event: Sample | EpochEnded) -> Line:
        if not isinstance(event, Sample):
            return self._of_epoch(row, event)
        taken = (row.seq, row.t_s, *self._before, *msgspec.structs.astuple(event), None)
        if not event.logs and not event.more_devices:
            return self._of_sample(taken)
        line = list(self._of_sample(taken))
        for name, value in extra_sample_values(event.logs, event.more_devices):
            if name in self._numbers:
                line[self._numbers[name]] = value
        return line

    def _of_epoch(self, row: EventRow, event: EpochEnded) -> Line:
        cells = {name: getattr(event, name) for name in _fields_of(EpochEnded)}
        cells |= {f"{_LOG}{name}": value for name, value in event.logs.items()}
        if event.step_times is not None:
            times = fields_of(event.step_times)
            cells |= {f"{_STEPS}{name}": value for name, value in times.items()}
        if event.parts is not None:
            cells |= {f"{_PARTS}{name}": getattr(event.parts, name) for name in _PART_FIELDS}
        cells |= {"seq": row.seq, "t_s": row.t_s, "type": "epoch_end", **self._given}
        return [cells.get(name) for name in self._numbers]


def _fields_of(kind: type[Event]) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in _APART]


def _column(name: str, source: FieldSource | None) -> TableColumn:
    kind = "text" if name == "type" else "whole" if name in _WHOLE else "number"
    if source is None:
        return TableColumn(name, kind, _unit(name))
    return TableColumn(name, kind, source.unit or _unit(name), source.source, source.absent)


def _unit(name: str) -> str:
    if name.startswith((_LOG, STEP_LOG_PREFIX)):
        return ""
    suffixes = (unit for suffix, unit in _SUFFIX_UNITS.items() if name.endswith(suffix))
    return _UNITS.get(name) or next(suffixes, "")


# A spreadsheet takes these for the begin of a formula, and passes over those before it.
_FORMULA: Final = ("=", "+", "-", "@")
_BEFORE: Final = frozenset("\t\r\n")


@contextmanager
def atomic_text_file(output: Path) -> Generator[TextIO]:
    """Open a UTF-8 file that gets its name once it is complete. Raises: `UserError`."""
    with atomic_file(output) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def write_csv(columns: Sequence[TableColumn], lines: Iterable[Line], file: TextIO) -> int:
    """Write the table; an empty cell was not read.

    Args:
        file: File open for writing.

    Returns:
        Lines written, without the titles.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(spreadsheet_safe(column.name) for column in columns)
    texts = [number for number, column in enumerate(columns) if column.kind == "text"]
    safe = functools.lru_cache(spreadsheet_safe)
    written = 0
    for line in lines:
        for number in texts:
            if line[number] != (text := safe(line[number])):
                line = [*line[:number], text, *line[number + 1 :]]  # noqa: PLW2901
        writer.writerow(line)  # the module writes an empty cell for None
        written += 1
    return written


def spreadsheet_safe(cell: Any) -> Any:
    """A cell that is safe in spreadsheets and terminals, with any text from a training.

    A text that a spreadsheet would take for a formula gets an apostrophe. Numbers stay unchanged.
    """
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or cell[:1] in _BEFORE else text


def write_json_lines(events: Iterable[dict[str, Any]], file: TextIO) -> int:
    """Write one object per line; return their number."""
    written = 0
    for event in events:
        file.write(f"{json_text(event)}\n")
        written += 1
    return written


_ROWS_A_GROUP: Final = 32_768


def require_parquet() -> None:
    """Check that Parquet can be written here. Raises: `UserError` with the command to run."""
    _pyarrow("pyarrow")


def write_parquet(
    columns: Sequence[TableColumn],
    lines: Iterable[Line],
    file: BinaryIO,
    *,
    about: Mapping[str, str],
) -> int:
    """Write the table.

    The metadata of each field have `unit`, `source`, and in `absent` the reason for missing
    values;
    values that were not read are null.

    Args:
        file: File open for writing.
        about: Metadata about the whole run.

    Returns:
        Rows written.
    """
    arrow = _pyarrow("pyarrow")
    parquet = _pyarrow("pyarrow.parquet")
    schema = _schema(arrow, columns, about)
    written = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _grouped(lines, _ROWS_A_GROUP):
            arrays = [
                arrow.array(cells, type=field.type)
                for cells, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            written += len(some)
    return written


def _pyarrow(module: str) -> Any:
    # By name: an optional package, which a command that does not need it must not ask for.
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        raise UserError(
            "Parquet needs pyarrow, which is not installed.",
            f"{how_to_add('parquet')}   Or export as CSV or JSON.",
        ) from exc


def _schema(arrow: Any, columns: Sequence[TableColumn], about: Mapping[str, str]) -> Any:
    types = {"text": arrow.string(), "whole": arrow.int64(), "number": arrow.float64()}
    fields = [
        arrow.field(column.name, types[column.kind], metadata=_metadata(column))
        for column in columns
    ]
    return arrow.schema(fields, metadata=dict(about))


def _metadata(column: TableColumn) -> dict[str, str]:
    entries = {"unit": column.unit, "source": column.source, "absent": column.absent}
    return {key: text for key, text in entries.items() if text}


def _grouped(rows: Iterable[Line], size: int) -> Iterable[list[Line]]:
    several = iter(rows)
    while some := list(itertools.islice(several, size)):
        yield some
