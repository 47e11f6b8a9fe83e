"""Binds verdicts: a card's button opens the evidence, and the chart shades its window."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.verdicts.evidence import evidence_picture
from kmonitor.ui.verdicts.qt.verdict_window import VerdictWindow
from kmonitor.ui.workspace.workspace import Desk
from kmonitor_agent.wire.messages.commands import LIMIT_METRICS, LimitMetric

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartBoard


class VerdictController(QObject):
    """Refreshed by the window's controller; main thread only.

    Signals:
        command_wanted: Name of a command that the evidence advises.
        guide_requested: A page of the guide and the heading to begin at.
    """

    command_wanted = Signal(str)
    guide_requested = Signal(str, str)

    def __init__(
        self, window: MainWindow, desk: Desk, look: Look, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._desk = desk
        self._look = look
        self._board: ChartBoard | None = None
        self._sheet: VerdictWindow | None = None
        self._metric: LimitMetric | None = None
        for card in window.cards.values():
            card.evidence_wanted.connect(self._on_card_evidence_wanted)

    def attach_board(self, board: "ChartBoard") -> None:
        """The charts are loaded."""
        self._board = board

    def refresh(self) -> None:
        """Bring the open evidence up to date; it closes with its verdict."""
        sheet, metric, run = self._sheet, self._metric, self._desk.book.current()
        if sheet is None or metric is None or not sheet.isVisible():
            return
        verdict = self._desk.verdicts.get(run.run, metric) if run is not None else None
        if run is None or verdict is None:
            sheet.close()
            return
        can_ask = self._desk.is_reached(run.run) and not self._desk.why_no_command(run.run)
        now_wall_s = self._desk.now_wall_s()
        sheet.show_picture(evidence_picture(run, verdict, now_wall_s=now_wall_s, can_ask=can_ask))

    def _shade(self, metric: LimitMetric | None) -> None:
        self._metric = metric
        if self._board is not None:
            self._board.presenter.evidence_of = metric
            self._board.refresh()

    @Slot(str)
    def _on_card_evidence_wanted(self, metric: str) -> None:
        if self._sheet is None:
            self._sheet = VerdictWindow(self._look, self._window)
            self._sheet.closed.connect(self._on_sheet_closed)
            self._sheet.command_wanted.connect(self.command_wanted)
            self._sheet.guide_wanted.connect(self._on_sheet_guide_wanted)
        self._shade(next((each for each in LIMIT_METRICS if each == metric), None))
        self._sheet.bring_up()
        self.refresh()

    @Slot(str)
    def _on_sheet_guide_wanted(self, heading: str) -> None:
        self.guide_requested.emit("folds.md", heading)

    @Slot()
    def _on_sheet_closed(self) -> None:
        self._shade(None)
