"""What an export does beside the window: asks the hub itself, draws, writes. Loads numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from kmonitor.connect.direct import DirectHub
from kmonitor.connect.hub_client import HubClient
from kmonitor.errors import Expected
from kmonitor.export.run_export import ENDINGS, RunExport
from kmonitor.export.whole_file import whole_file
from kmonitor.presenters.chart_desk import ChartDesk
from kmonitor.presenters.palettes import Palette
from kmonitor.report.chart_file import PICTURE_SIZE, chart_file
from kmonitor.report.run_report import file_stem, write_report
from kmonitor_agent.protocol.commands import LimitMetric
from kmonitor_agent.protocol.messages import RunSummary

_SCALE: Final = 2
"""Pixels of a PNG for one of the drawing, as on a sharp screen."""


@dataclass(frozen=True, slots=True)
class RunAt:
    """A run and where its hub is asked."""

    run: RunSummary
    hub: str | DirectHub


@dataclass(frozen=True, slots=True)
class ChartLook:
    """How a picture of a chart is drawn.

    Attributes:
        run_name: Of the selected run.
        palette: In which colours.
        family: The window's typeface, for a PNG; a reader of an SVG may not have it.
    """

    run_name: str
    palette: Palette
    family: str


class ExportWork:
    """Writes files; raises `Expected` where one cannot be, and leaves what was there."""

    def stem(self, run: RunSummary) -> str:
        """A name for a file about a run, without its ending."""
        return file_stem(run)

    def export(
        self,
        at: RunAt,
        output: Path,
        *,
        between: tuple[float, float] | None,
        is_given_up: Callable[[], bool],
    ) -> None:
        """Write a run's data, as the file's ending says."""
        form = ENDINGS.get(output.suffix.casefold())
        if form is None:
            raise Expected(
                f"What {output.name} is to be does not follow from its ending.",
                "Let its name end in .csv, .json or .parquet.",
            )
        with HubClient(at.hub) as client:
            RunExport(client, at.run, between=between, is_given_up=is_given_up).into_file(
                output, form
            )

    def report(self, at: RunAt, output: Path) -> None:
        """Write a run's report."""
        with HubClient(at.hub) as client:
            write_report(client, at.run, output)

    def draw(self, charts: ChartDesk, metric: LimitMetric, look: ChartLook, kind: str) -> bytes:
        """A chart as it is shown now, as a file's content; main thread.

        Args:
            charts: Of the window.
            metric: Which chart.
            look: How it is drawn.
            kind: "svg"; else a PNG.
        """
        card = charts.card(metric, now_s=0.0)
        if card is None:
            raise Expected("There is no run to draw.")
        picture = charts.picture(metric, int(PICTURE_SIZE.width)).without_offer()
        if kind == "svg":
            return chart_file(picture, card, look.palette, run_name=look.run_name).encode()
        return _png(
            chart_file(picture, card, look.palette, run_name=look.run_name, typefaces=look.family)
        )

    def write(self, content: bytes, output: Path) -> None:
        """Write a file."""
        with whole_file(output) as file:
            file.write(content)


def _png(svg: str) -> bytes:
    width, height = (int(side * _SCALE) for side in (PICTURE_SIZE.width, PICTURE_SIZE.height))
    image = QImage(width, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg.encode())).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(buffer.data().data())
