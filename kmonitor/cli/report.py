"""`kmonitor report`: a run as one HTML file, to keep or to send."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption, open_hub
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.terminal import DONE, print_text
from kmonitor.ui.report.page import file_stem, write_report


def report(
    run: str,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    into: Annotated[Path | None, Parameter(name="--into", show=False)] = None,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Write a report of a run: charts, verdicts, reclaims, events, model and environment.

    Of a study: its folds, their metrics and memory, and the attempts.

    It is one HTML file that loads nothing and runs nothing, light or dark as the reader's system
    is, and good to print.

    Example: `kmonitor report last --output leak.html`

    Args:
        run: Id, the beginning of an id, name, or `last`.
        output: This file, which is replaced; without it one of the run's name, here.
        into: The same, as it was called before.
        folder: Of the runs whose spools lie in this folder, which is only read.
        host: Ask the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    with open_hub(host, folder=folder, hub=hub) as client:
        chosen = choose_run(client.runs(), run)
        file = output or into or Path(f"{file_stem(chosen)}.html")
        write_report(client, chosen, file)
    print_text(str(file))
    return DONE
