"""Writes export files over a hub connection of its own, beside the window's. Loads numpy."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from PySide6.QtCore import QBuffer, QByteArray
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from kmonitor.base.atomic_file import atomic_file
from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.hub_socket import NetworkHub
from kmonitor.export.run_export import ENDINGS, ExportFormat, NamedExport, RunExport, RunsExport
from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.plots.chart_state import ChartState
from kmonitor.ui.report.chart_file import PICTURE_SIZE, chart_file
from kmonitor.ui.report.page import file_stem, write_report
from kmonitor.ui.theme.palettes import Palette
from kmonitor_agent.wire.messages.unions import RunSummary

_SCALE: Final = 2
"""Pixels of a PNG per pixel of the drawing, as on a high-resolution screen."""


@dataclass(frozen=True, slots=True)
class RunAt:
    """A run and the address of its hub."""

    run: RunSummary
    hub: str | NetworkHub


@dataclass(frozen=True, slots=True)
class ChartStyle:
    """Style of a chart's picture.

    Attributes:
        run_name: Name of the selected run.
        family: Typeface of the window, for a PNG; the reader of an SVG may not have it.
    """

    run_name: str
    palette: Palette
    family: str


class ChartSource(Protocol):
    """Provides the charts of the window."""

    def state(self, key: str, width_px: int) -> ChartState: ...

    def card(self, key: str, *, now_s: float) -> ChartCardState | None:
        """Return the text above a chart; None while there is no run."""
        ...


class ExportWriter:
    """Writes files; raises `UserError` if a file cannot be written, and keeps the old one."""

    def stem(self, run: RunSummary) -> str:
        """Return a file name for a run, without suffix."""
        return file_stem(run)

    def export(
        self,
        at: RunAt,
        output: Path,
        *,
        between: tuple[float, float] | None,
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Write a run's data in the format of the file's suffix."""
        form = _format_of(output)
        with HubClient(at.hub) as client:
            RunExport(client, at.run, between=between, is_cancelled=is_cancelled).into_file(
                output, form
            )

    def export_all(
        self,
        runs: Sequence[tuple[RunAt, tuple[float, float] | None]],
        output: Path,
        *,
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Write the data of several runs into one file, in the format of its suffix.

        Args:
            runs: Runs with their range of run time; None: the whole run.
            is_cancelled: Checked at each row.
        """
        form = _format_of(output)
        with ExitStack() as open_hubs:
            named = [
                NamedExport(
                    at.run,
                    RunExport(
                        open_hubs.enter_context(HubClient(at.hub)),
                        at.run,
                        between=between,
                        is_cancelled=is_cancelled,
                    ),
                )
                for at, between in runs
            ]
            RunsExport(named).into_file(output, form)

    def report(self, at: RunAt, output: Path) -> None:
        with HubClient(at.hub) as client:
            write_report(client, at.run, output)

    def draw(self, charts: ChartSource, key: str, style: ChartStyle, kind: str) -> str | QImage:
        """Draw a chart as displayed; main thread, because text may be drawn only there.

        Args:
            kind: "svg" for SVG text; else pixels.

        Raises:
            UserError: There is no run.
        """
        card = charts.card(key, now_s=0.0)
        if card is None:
            raise UserError("There is no run to export.")
        state = charts.state(key, int(PICTURE_SIZE.width)).without_offer()
        if kind == "svg":
            return chart_file(state, card, style.palette, run_name=style.run_name)
        return _pixels(
            chart_file(state, card, style.palette, run_name=style.run_name, typefaces=style.family)
        )

    def write_picture(self, drawn: str | QImage, output: Path) -> None:
        """Write the result of `draw`, pixels as PNG; any thread, as compression takes a while."""
        content = drawn.encode() if isinstance(drawn, str) else _png(drawn)
        with atomic_file(output) as file:
            file.write(content)


def _format_of(output: Path) -> ExportFormat:
    form = ENDINGS.get(output.suffix.casefold())
    if form is None:
        raise UserError(
            f"Cannot determine the format from the file name {output.name}.",
            "Use a file name that ends in .csv, .json or .parquet.",
        )
    return form


def _pixels(svg: str) -> QImage:
    width, height = (int(side * _SCALE) for side in (PICTURE_SIZE.width, PICTURE_SIZE.height))
    image = QImage(width, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg.encode())).render(painter)
    painter.end()
    return image


def _png(image: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(buffer.data().data())
