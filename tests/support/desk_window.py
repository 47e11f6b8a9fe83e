"""A whole window fed by hand: no hub, no threads; the test answers its requests."""

import gc
from typing import Final, cast

import msgspec
import pytest
from PySide6.QtCore import QEvent

from kmonitor.ui.charts.qt.charts_controller import ChartsController
from kmonitor.ui.settings.qt.language_controller import LanguageController
from kmonitor.ui.settings.window_settings import ThemeName, WindowSettings
from kmonitor.ui.shell.qt.launcher import DemoLauncher
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.shell.qt.window_controller import WindowController, WindowParts
from kmonitor.ui.theme.palettes import DARK, LIGHT
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.theme.qt.theme_controller import ThemeController
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import Event
from kmonitor_agent.wire.messages.unions import (
    CommandRequest,
    RowsReply,
    RunSummary,
    SeriesRequest,
)
from tests.support.made_up_runs import (
    HUB,
    made_up_row,
    told_hub,
    told_runs,
    told_series,
)

WINDOW: Final = [
    pytest.mark.gui,
    pytest.mark.usefixtures("qapp"),
    # A warning on something that the offscreen platform cannot do and does not need.
    pytest.mark.qt_log_ignore("This plugin does not support"),
]
"""Marks of every test of a window."""


class DeskWindow:
    """Owns all parts; `close` it.

    Attributes:
        asked: Every message that the window sent, with its number.
        runs: Runs whose columns are answered.
        window, desk, board, controller: The parts.
    """

    def __init__(
        self,
        *,
        theme: ThemeName = "dark",
        size: tuple[int, int] = (1280, 760),
        settings: WindowSettings | None = None,
        with_charts: bool = True,
    ) -> None:
        # As in the app: a collection amid the making of charts that meets dropped ones of the
        # window before ends the process.
        gc.disable()
        self.qt = make_qt_application()
        self.asked: list[tuple[int, msgspec.Struct]] = []
        self.runs: dict[str, RunSummary] = {}
        self._row = 1000
        self.look = Theme()
        self.theme = ThemeController(self.qt, self.look)
        self.theme.choose(theme)
        self.language = LanguageController(self.qt)
        self.language.use_language((settings or WindowSettings()).language)
        self.desk = Workspace(clock=SystemClock(), user="tester")
        self.desk.attach_hub(self._ask)
        self.window = MainWindow(self.look)
        self.window.resize(*size)
        self.demo = DemoLauncher(find_folders())
        shown = (self.window, self.desk, self.look, self.theme)
        parts = WindowParts(*shown, self.demo, self.language, find_folders())
        self.controller = WindowController(parts, settings or WindowSettings())
        self.window.show()
        self.window.leave_focus_alone()
        self.board: ChartsController | None = None
        if with_charts:
            self.load_charts()

    def load_charts(self) -> ChartsController:
        """As the app does after the shell is shown."""
        self.board = ChartsController(self.window.charts, self.desk, self.look)
        self.controller.attach_controller(self.board)
        return self.board

    def connect(self) -> None:
        """The hub answers."""
        self.desk.connected(told_hub())

    def tell_runs(self, *runs: RunSummary) -> None:
        """The hub reports these runs; requests that follow are answered."""
        self.runs |= {run.run: run for run in runs}
        self.desk.apply_message(told_runs(*runs))
        self.answer()
        self.settle()

    def tell_events(self, *events: Event, run: str = "run1") -> None:
        """Live rows."""
        rows = []
        for event in events:
            self._row += 1
            rows.append(made_up_row(self._row, event, run))
        told = RowsReply(
            request_id=-1, hub=HUB, cursor=self._row, rows=rows, more=False, head=self._row
        )
        self.desk.apply_message(told)
        self.settle()

    def answer(self) -> None:
        """Answer every open request for columns of runs that were reported."""
        open_questions = [pair for pair in self.asked if isinstance(pair[1], SeriesRequest)]
        self.asked = [pair for pair in self.asked if not isinstance(pair[1], SeriesRequest)]
        for number, asked in open_questions:
            question = cast("SeriesRequest", asked)
            if (run := self.runs.get(question.run)) is not None:
                self.desk.apply_message(told_series(question, run, number))

    def commands(self) -> list[CommandRequest]:
        """The requested commands."""
        return [m for _, m in self.asked if isinstance(m, CommandRequest)]

    def settle(self) -> None:
        """Refresh and let Qt do what is due."""
        self.controller.refresh()
        for _ in range(3):
            self.qt.processEvents()

    def use_theme(self, theme: ThemeName) -> None:
        """Choose a theme as the user does, and wait until all that is shown has it."""
        self.controller.choices.choose_theme(theme)
        wanted = LIGHT if theme == "light" else DARK
        while self.look.palette is not wanted:
            self.qt.processEvents()

    def close(self) -> None:
        """Delete everything now."""
        self.controller.stop()
        self.window.close()
        self.language.stop()
        for part in (
            *(self.board, self.controller, self.demo, self.theme),
            *(self.window, self.look, self.language),
        ):
            if part is not None:
                part.deleteLater()
        self.qt.processEvents()
        # Else the next window's style sheet is worked out for this one as well.
        self.qt.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]
        gc.enable()

    def _ask(self, message: msgspec.Struct) -> int:
        number = len(self.asked) + 10_000 + self._row
        self._row += 1
        self.asked.append((number, message))
        return number
