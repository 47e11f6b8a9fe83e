"""`kmonitor export`: everything that is stored of a run, for programs."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TextIO

from cyclopts import Parameter

from kmonitor.cli.event_stream import event_object
from kmonitor.cli.hub_access import HostOption, HubOption, open_hub
from kmonitor.cli.run_choice import choose_run
from kmonitor.cli.sample_csv import CSV_KINDS, write_csv
from kmonitor.cli.statuses import DONE
from kmonitor.cli.terminal import complain, json_text
from kmonitor.errors import Expected


def export(
    run: str,
    /,
    *,
    format_: Annotated[Literal["csv", "json"], Parameter(name=("--format", "-f"))],
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Write out what is stored of a run.

    `json`: one object a line for every event: `seq`, `t_s` (seconds since the run started),
    `type`, and the type's fields. `csv`: one line for each sample and each epoch's end; the
    guide (command-line.md) describes its columns.

    Example: `kmonitor export last --format csv --output run.csv`

    Args:
        run: Id, the beginning of an id, name, or `last`.
        format_: `csv` or `json`.
        output: This file, which is replaced; standard output without it.
        host: Ask the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    with open_hub(host, hub=hub) as client:
        chosen = choose_run(client.runs(), run)
        kinds = CSV_KINDS if format_ == "csv" else ()
        objects = (event_object(row) for row in client.all_rows(chosen.run, kinds))
        with _opened(output) as file:
            if format_ == "csv":
                written = write_csv(list(objects), file)
            else:
                written = _write_lines((json_text(event) for event in objects), file)
    if output is not None:
        complain(f"{written} lines in {output}")
    return DONE


def _write_lines(lines: Iterator[str], file: TextIO) -> int:
    written = 0
    for line in lines:
        file.write(f"{line}\n")
        written += 1
    return written


@contextmanager
def _opened(output: Path | None) -> Generator[TextIO]:
    if output is None or str(output) == "-":
        yield sys.stdout
        return
    # Written beside and renamed, so that a failure leaves no half of a file under that name.
    unfinished = output.with_name(f"{output.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            yield file
        unfinished.replace(output)
    except OSError as exc:
        unfinished.unlink(missing_ok=True) if unfinished.is_file() else None
        raise Expected(
            f"{output} cannot be written: {exc.strerror or exc}.",
            "Name another file with --output, or leave it out to write to the terminal.",
        ) from exc
