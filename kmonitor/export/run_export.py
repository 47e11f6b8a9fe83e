"""Export of runs: formats, the rows of one or several runs, and the output file."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TextIO

from typing_extensions import override

from kmonitor.base.atomic_file import atomic_file
from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import UNREADABLE, decode_row, event_object
from kmonitor.export.table_formats import (
    TABLE_KINDS,
    Line,
    TableColumn,
    TableLines,
    atomic_text_file,
    require_parquet,
    table_columns,
    write_csv,
    write_json_lines,
    write_parquet,
)
from kmonitor.hub.store.row_checks import DAMAGED
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    FieldSource,
    FieldSources,
    LostEvents,
    Sample,
)
from kmonitor_agent.wire.messages.unions import EventRow, RunSummary

ExportFormat = Literal["csv", "json", "parquet"]

ENDINGS: Final[dict[str, ExportFormat]] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
}

_MOST_NAMED: Final = 20
"""Most unreadable events that are named."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export.

    Attributes:
        lines: Number of lines or rows, without titles.
        columns: Columns of the table; empty for JSON, where events contain the sources.
        unreadable: Unreadable events with reasons; a table lacks them.
    """

    lines: int
    columns: Sequence[TableColumn] = ()
    unreadable: Sequence[str] = ()


class ExportCancelled(UserError):
    """The export was cancelled; no partial file is left."""

    def __init__(self) -> None:
        super().__init__("The export was canceled.")


class _Export(ABC):
    """Writes a table, or events, in one of the formats."""

    def __init__(self) -> None:
        self._unreadable: list[str] = []

    def into_file(self, output: Path, format_: ExportFormat) -> Exported:
        """Write to a file, replacing it. Raises: `UserError`: the old file is unchanged."""
        if format_ != "parquet":
            with atomic_text_file(output) as text:
                return self.as_text(text, format_)
        require_parquet()
        with atomic_file(output) as file:
            columns = self.columns()
            lines = write_parquet(columns, self.lines(columns), file, about=self._about())
            return Exported(lines, columns, self._unreadable)

    def as_text(self, file: TextIO, format_: Literal["csv", "json"]) -> Exported:
        """Write text to an open file."""
        if format_ == "json":
            return Exported(write_json_lines(self.objects(), file), (), self._unreadable)
        columns = self.columns()
        lines = write_csv(columns, self.lines(columns), file)
        return Exported(lines, columns, self._unreadable)

    @abstractmethod
    def columns(self) -> list[TableColumn]:
        """Columns of the table, with their sources."""

    @abstractmethod
    def lines(self, columns: Sequence[TableColumn]) -> Iterator[Line]:
        """Lines of a table with these columns."""

    @abstractmethod
    def objects(self) -> Iterator[dict[str, Any]]:
        """All events as data."""

    @abstractmethod
    def _about(self) -> dict[str, str]:
        """Fields about the whole file."""


class RunExport(_Export):
    """Exports one run; for one thread.

    A live run is written as far as it is stored when the last page is requested.

    Args:
        between: First and last run time of the events, seconds, both included; None: all.
        is_cancelled: Called at each row; True cancels the export. None: never cancelled.
    """

    def __init__(
        self,
        client: HubClient,
        run: RunSummary,
        *,
        between: tuple[float, float] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__()
        self._client = client
        self._run = run
        self._between = between
        self._is_cancelled = is_cancelled

    @override
    def columns(self) -> list[TableColumn]:
        logs = dict[str, None]()
        sources = list[FieldSource]()
        for row in self._client.all_rows(self._run.run, ("epoch_end", "sources")):
            match decode_row(row):
                case EpochEnded() as ended:
                    logs.update(dict.fromkeys(ended.logs))
                case FieldSources() as message:
                    sources += message.sources
                case _:
                    pass
        have = self._client.series(self._run.run, []).have
        return table_columns(logs, sources, extras=have)

    @override
    def objects(self) -> Iterator[dict[str, Any]]:
        for row in self._rows(()):
            fields = event_object(row)
            if UNREADABLE in fields:
                self._note(row, fields[UNREADABLE])
            elif fields["type"] == "lost" and fields["why"] == DAMAGED:
                self._note(row, DAMAGED)
            yield fields

    @override
    def lines(
        self, columns: Sequence[TableColumn], given: Mapping[str, str] | None = None
    ) -> Iterator[Line]:
        table = TableLines(columns, given)
        for row in self._rows((*TABLE_KINDS, "lost")):
            match decode_row(row):
                case Sample() | EpochEnded() as event:
                    yield table.line(row, event)
                case LostEvents(why=why):
                    if why == DAMAGED:
                        self._note(row, DAMAGED)
                case _:
                    self._note(row, "neither a sample nor the end of an epoch")

    def _note(self, row: EventRow, why: str) -> None:
        if len(self._unreadable) < _MOST_NAMED:
            self._unreadable.append(f"row {row.row}: {why}")

    def _rows(self, kinds: Sequence[str]) -> Iterator[EventRow]:
        from_s, to_s = self._between or (0.0, math.inf)
        for row in self._client.all_rows(self._run.run, kinds):
            if self._is_cancelled is not None and self._is_cancelled():
                raise ExportCancelled
            if from_s <= row.t_s <= to_s:
                yield row

    @override
    def _about(self) -> dict[str, str]:
        run = self._run
        about = {"run": run.run, "name": run.name, "host": run.host}
        about["started_wall_s"] = f"{run.started_wall_s:.3f}"
        about |= {f"version:{name}": version for name, version in sorted(run.versions.items())}
        return about


_RUN_COLUMNS = (TableColumn("run", "text"), TableColumn("name", "text"))


@dataclass(frozen=True, slots=True)
class NamedExport:
    run: RunSummary
    export: RunExport


class RunsExport(_Export):
    """Exports runs one after the other; for one thread."""

    def __init__(self, runs: Sequence[NamedExport]) -> None:
        """Args: `runs`: Runs in the order of output."""
        super().__init__()
        self._runs = runs

    @override
    def columns(self) -> list[TableColumn]:
        # Those of all runs; a column that any of them filled has that run's source.
        found: dict[str, TableColumn] = {column.name: column for column in _RUN_COLUMNS}
        for each in self._runs:
            for column in each.export.columns():
                if column.name not in found or found[column.name].absent:
                    found[column.name] = column
        return list(found.values())

    @override
    def lines(self, columns: Sequence[TableColumn]) -> Iterator[Line]:
        for each in self._runs:
            given = {"run": each.run.run, "name": each.run.name}
            yield from each.export.lines(columns, given)

    @override
    def objects(self) -> Iterator[dict[str, Any]]:
        for each in self._runs:
            for event in each.export.objects():
                # An event may have a name of its own: it keeps it.
                yield {"run": each.run.run, "run_name": each.run.name, **event}

    @override
    def _about(self) -> dict[str, str]:
        return {f"run:{each.run.run}": each.run.name for each in self._runs}
