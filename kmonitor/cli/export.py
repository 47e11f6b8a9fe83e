"""`kmonitor export`: all stored data of a run, for programs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption, open_hub
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.terminal import DONE, UsageError, print_stderr, terminal_safe
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.csv_logger import CsvLoggerExport
from kmonitor.export.run_export import ENDINGS, ExportFormat, RunExport
from kmonitor.export.table_formats import TableColumn
from kmonitor_agent.wire.messages.unions import RunSummary

AnyFormat = Literal["csv", "json", "parquet", "csvlogger"]


def export(  # noqa: PLR0913 - options of a command
    run: str,
    /,
    *,
    format_: Annotated[AnyFormat | None, Parameter(name=("--format", "-f"))] = None,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    fit: Annotated[int | None, Parameter(name="--fit")] = None,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Export the stored data of a run.

    `json`: one object per line for every event: `seq`, `t_s` (seconds since the run started),
    `type`, and the type's fields. `csv`, `parquet`: one row for each sample and each epoch end
    (columns: see the guide). `csvlogger`: the epochs of a fit as Keras writes them.

    Example: `kmonitor export last --output run.csv`

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        format_: Default: taken from the file name extension.
        output: File to write or replace. Required for Parquet. Default: standard output.
        fit: With `csvlogger`: the call to `fit` to export, counted from 1. Default: the last.
        folder: Export from the runs whose spools are in this folder, which is opened read-only.
        host: Ask the hub on this host, over ssh: `gpu-01`, or a name from `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    output = None if str(output) == "-" else output
    chosen_format = format_ or _format_of(output)
    if fit is not None and chosen_format != "csvlogger":
        raise UsageError("--fit works only with --format csvlogger: the others have every fit.")
    with open_hub(host, folder=folder, hub=hub) as client:
        chosen = choose_run(client.runs(), run)
        if chosen_format == "csvlogger":
            _write_csv_logger(client, chosen, fit, output)
            return DONE
        writing = RunExport(client, chosen)
        if output is not None:
            exported = writing.into_file(output, chosen_format)
            print_stderr(f"{exported.lines} lines written to {output}")
            _print_sources(exported.columns)
            _warn_unreadable(exported.unreadable)
        elif chosen_format == "parquet":
            raise UsageError(
                "Parquet cannot be written to a terminal.", "Choose a file with --output."
            )
        else:
            _warn_unreadable(writing.as_text(sys.stdout, chosen_format).unreadable)
    return DONE


def _write_csv_logger(
    client: HubClient, run: RunSummary, fit: int | None, output: Path | None
) -> None:
    writing = CsvLoggerExport(client, run, fit)
    if output is None:
        writing.as_text(sys.stdout)
    else:
        print_stderr(f"{writing.into_file(output)} lines written to {output}")


def _format_of(output: Path | None) -> ExportFormat:
    if output is None:
        raise UsageError(
            "No format given. Use --format csv or json.", "Or choose a file with --output."
        )
    found = ENDINGS.get(output.suffix.casefold())
    if found is None:
        name = terminal_safe(output.name or str(output))
        raise UsageError(
            f"Cannot determine the format from the file name {name}.",
            "Add --format csv, json or parquet.",
        )
    return found


def _warn_unreadable(unreadable: Sequence[str]) -> None:
    for each in unreadable:
        print_stderr(f"An event cannot be read: {terminal_safe(each)}")


def _print_sources(columns: Sequence[TableColumn]) -> None:
    for column in columns:
        if column.absent:
            print_stderr(f"{column.name} is empty: {terminal_safe(column.absent)}")
        elif column.source:
            print_stderr(f"{column.name}: {terminal_safe(column.source)}")
