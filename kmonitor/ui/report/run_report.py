"""The report of a run as a file."""

from pathlib import Path
from typing import Final

from kmonitor.base.atomic_file import whole_file
from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.report.contents import report_contents
from kmonitor.ui.report.page import report_page
from kmonitor_agent.wire.messages.unions import RunSummary

_LONGEST_BYTES: Final = 120
_SHORT_ID: Final = 8


def write_report(client: HubClient, run: RunSummary, output: Path) -> None:
    """Write the report of a run, which replaces what stands there.

    Args:
        client: Of the run's hub.
        run: The run.
        output: The file.

    Raises:
        Expected: The hub does not answer, or the file cannot be written; it is as it was.
    """
    page = report_page(report_contents(client, run))
    with whole_file(output) as file:
        file.write(page.encode())


def file_stem(run: RunSummary) -> str:
    """A name for a file about a run, which no file system refuses: "resnet50-3f2a8c1e"."""
    # Without points: what follows one would be taken for the ending.
    letters = "".join(each if each.isalnum() or each in "-_" else "-" for each in run.name)
    name = letters.encode()[:_LONGEST_BYTES].decode(errors="ignore").strip("-")
    return f"{name or 'run'}-{run.run[:_SHORT_ID]}"
