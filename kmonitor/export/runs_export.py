"""Several runs written out as one file: one table, or one list of events, with the run in each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from kmonitor.base.atomic_file import whole_file
from kmonitor.export.parquet_file import see_parquet, write_parquet
from kmonitor.export.run_export import Exported, ExportFormat, RunExport
from kmonitor.export.table_formats import TableColumn
from kmonitor.export.text_file import write_csv, write_json_lines, written_as_text
from kmonitor_agent.wire.messages.unions import RunSummary

_RUN_COLUMNS = (TableColumn("run", "text"), TableColumn("name", "text"))


@dataclass(frozen=True, slots=True)
class NamedExport:
    """One of the runs."""

    run: RunSummary
    export: RunExport


class RunsExport:
    """Writes runs one after the other; for one thread."""

    def __init__(self, runs: Sequence[NamedExport]) -> None:
        """Args: `runs`: In the order in which they are to stand."""
        self._runs = runs

    def into_file(self, output: Path, format_: ExportFormat) -> Exported:
        """Write into a file, which is replaced. Raises: `Expected`; it is as it was."""
        if format_ != "parquet":
            with written_as_text(output) as text:
                return self._as_text(text, format_)
        see_parquet()
        with whole_file(output) as file:
            columns = self._columns()
            lines = write_parquet(columns, self._cells(), file, about=self._about())
            return Exported(lines, columns)

    def _as_text(self, text: TextIO, format_: ExportFormat) -> Exported:
        if format_ == "json":
            return Exported(write_json_lines(self._objects(), text))
        columns = self._columns()
        return Exported(write_csv(columns, self._cells(), text), columns)

    def _columns(self) -> list[TableColumn]:
        """Those of all runs; one that any run filled says where from."""
        found: dict[str, TableColumn] = {column.name: column for column in _RUN_COLUMNS}
        for each in self._runs:
            for column in each.export.columns():
                if column.name not in found or found[column.name].absent:
                    found[column.name] = column
        return list(found.values())

    def _cells(self) -> Iterator[dict[str, Any]]:
        for each in self._runs:
            for cells in each.export.cells():
                yield {**_named(each.run), **cells}

    def _objects(self) -> Iterator[dict[str, Any]]:
        for each in self._runs:
            for event in each.export.objects():
                # An event may have a name of its own: it keeps it.
                yield {"run": each.run.run, "run_name": each.run.name, **event}

    def _about(self) -> dict[str, str]:
        return {f"run:{each.run.run}": each.run.name for each in self._runs}


def _named(run: RunSummary) -> dict[str, str]:
    return {"run": run.run, "name": run.name}
