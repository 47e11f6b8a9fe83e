"""`kmonitor export`: everything that is stored of a run, for programs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.hub_access import FolderOption, HostOption, HubOption, open_hub
from kmonitor.cli.run_choice import choose_run
from kmonitor.cli.statuses import DONE, Misuse
from kmonitor.cli.terminal import complain, plain
from kmonitor.export.run_export import ENDINGS, ExportFormat, RunExport
from kmonitor.export.sample_table import TableColumn


def export(
    run: str,
    /,
    *,
    format_: Annotated[ExportFormat | None, Parameter(name=("--format", "-f"))] = None,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Write out what is stored of a run.

    `json`: one object a line for every event: `seq`, `t_s` (seconds since the run started),
    `type`, and the type's fields. `csv` and `parquet`: one line for each sample and each epoch's
    end; the guide (command-line.md) describes the columns.

    Example: `kmonitor export last --output run.csv`

    Args:
        run: Id, the beginning of an id, name, or `last`.
        format_: `csv`, `json` or `parquet`; without it, as the file's ending says.
        output: This file, which is replaced; standard output without it, but for Parquet.
        folder: Of the runs whose spools lie in this folder, which is only read.
        host: Ask the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    if output is not None and str(output) == "-":
        output = None
    chosen_format = format_ or _format_of(output)
    with open_hub(host, folder=folder, hub=hub) as client:
        writing = RunExport(client, choose_run(client.runs(), run))
        if output is not None:
            exported = writing.into_file(output, chosen_format)
            complain(f"{exported.lines} lines in {output}")
            _tell_sources(exported.columns)
        elif chosen_format == "parquet":
            raise Misuse("Parquet is no text for a terminal.", "Name a file with --output.")
        else:
            writing.as_text(sys.stdout, chosen_format)
    return DONE


def _format_of(output: Path | None) -> ExportFormat:
    if output is None:
        raise Misuse("Say in which form: --format csv or json.", "Or name a file with --output.")
    found = ENDINGS.get(output.suffix.casefold())
    if found is None:
        raise Misuse(
            f"What {plain(output.name)} is to be does not follow from its ending.",
            "Add --format csv, json or parquet.",
        )
    return found


def _tell_sources(columns: Sequence[TableColumn]) -> None:
    for column in columns:
        if column.absent:
            complain(f"{column.name} is empty: {plain(column.absent)}")
        elif column.source:
            complain(f"{column.name} is from {plain(column.source)}")
