"""`kmonitor hub dashboard`: a Grafana dashboard of the figures that a hub tells."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kmonitor.base.resource_files import resource_path
from kmonitor.cli.common.statuses import DONE
from kmonitor.cli.common.terminal import complain
from kmonitor.export.text_file import written_as_text


def dashboard(*, output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None) -> int:
    """Write out an example dashboard, to be imported in Grafana (Dashboards, New, Import).

    It asks a Prometheus that scrapes `kmonitor hub --prometheus`, or takes what `--otlp` sends.

    Args:
        output: This file, which is replaced; standard output without it.
    """
    text = resource_path("grafana", "kmonitor.json").read_text(encoding="utf-8")
    if output is None:
        sys.stdout.write(text)
        return DONE
    with written_as_text(output) as file:
        file.write(text)
    complain(f"Written: {output}")
    return DONE
