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
    """Write a report on a run: charts, verdicts, reclaims, events, model and environment.

    For a study: its folds, their metrics and memory, and the attempts.

    It is a single HTML file without scripts or external content, light or dark to match the
    reader's system, and suitable for printing.

    Example: `kmonitor report last --output leak.html`

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        output: File to write; an existing one is replaced. Default: the name of the run, in the
            current folder.
        into: Deprecated alias for `--output`.
        folder: Use the runs in this folder, which is opened read-only.
        host: Use the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name from
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    with open_hub(host, folder=folder, hub=hub) as client:
        chosen = choose_run(client.runs(), run)
        file = output or into or Path(f"{file_stem(chosen)}.html")
        write_report(client, chosen, file)
    print_text(str(file))
    return DONE
