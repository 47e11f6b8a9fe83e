"""A window on which scenes are set, and runs to fill it with."""

from typing import TYPE_CHECKING, Any, Final

import msgspec
from PySide6.QtWidgets import QApplication, QTableView, QWidget

from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.events import Event, LimitForecast, Verdict
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary
from tests.support.desk_window import DeskWindow
from tests.support.made_up_runs import ACTIONS, GIB, NOW_WALL_S, limit, made_up_run, reload_record
from tests.support.made_up_verdicts import LEAK

if TYPE_CHECKING:
    from kmonitor.ui.alerts.qt.alert_controller import AlertController

SIZE: Final = (1280, 760)
LONG: Final = "a_model_with_a_name_of_eighty_letters_that_somebody_really_gave_to_a_run_of_hers"
EVERYTHING: Final[list[CommandName]] = [*ACTIONS, "restart", "auto", "diagnose"]


class Stage:
    """A window on which a scene is set; `close` it.

    Attributes:
        desk: The window and its parts.
        kept: Parts that live as long as the scene.
    """

    def __init__(self, **options: Any) -> None:
        self.desk = DeskWindow(size=SIZE, **options)
        self.kept: list[AlertController] = []

    @property
    def window(self) -> QWidget:
        """The main window."""
        return self.desk.window

    def live(self, *others: RunSummary, **changed: Any) -> QWidget:
        """A run as the hub reports it, and others."""
        self.desk.connect()
        self.desk.tell_runs(made_up_run(**changed), *others)
        return self.window

    def judged(self, **changed: Any) -> QWidget:
        """A run that grows, with a limit, a reload behind it, and verdicts that fit its curves."""
        self._live_with_limit(**changed)
        self.tell(
            reload_record(),
            growing("ram", 1.8 * GIB, LimitForecast(80 * GIB, "own", 3.7, 3.4, 4.1, 100.0)),
            growing("vram", 1.25 * GIB, LimitForecast(80 * GIB, "device", 23.4, 22, 25, 100.0)),
            growing("graph", 590.0),
            msgspec.structs.replace(growing("step_time", 0.0065), state="growing", cause=""),
        )
        self.desk.settle()
        return self.window

    def every_state(self) -> QWidget:
        """A run with verdicts of all kinds, which do not fit its curves."""
        self._live_with_limit()
        replace = msgspec.structs.replace
        self.tell(
            LEAK,
            replace(LEAK, metric="graph", state="measuring", units=4, forecast=None, cause=""),
            replace(LEAK, metric="step_time", state="steady", forecast=None, cause=""),
            replace(LEAK, metric="vram", state="cleared", forecast=None, cause=""),
        )
        self.desk.settle()
        return self.window

    def _live_with_limit(self, **changed: Any) -> None:
        self.live(
            limits=[limit("ram", 80 * GIB)],
            verdicts={"ram": "suspected"},
            actions=EVERYTHING,
            **changed,
        )

    def tell(self, *events: Event) -> None:
        """Live rows of the run."""
        self.desk.tell_events(*events)

    def only(self, kind: type[QWidget]) -> QWidget:
        """The one shown window of a kind."""
        self.desk.settle()
        found = [top for top in QApplication.topLevelWidgets() if isinstance(top, kind)]
        shown = [top for top in found if top.isVisible()]
        assert len(shown) == 1, shown
        return shown[0]

    def close(self) -> None:
        """Delete everything."""
        for controller in self.kept:
            controller.stop()
        for top in QApplication.topLevelWidgets():
            if top is not self.window:
                top.close()
        self.desk.close()


def growing(metric: str, slope: float, forecast: LimitForecast | None = None) -> Verdict:
    """A verdict on the epochs since the reload."""
    return msgspec.structs.replace(
        LEAK,
        metric=metric,
        from_s=2250.0,
        window=15,
        slope=slope,
        slope_low=0.95 * slope,
        slope_high=1.05 * slope,
        rise=15 * slope,
        forecast=forecast,
    )


def fleet(n: int) -> list[RunSummary]:
    """Runs that go on and runs that ended, on three hosts."""
    names = ("vit-b16-finetune", "unet-seg-3d", "gan-faces-v3", LONG, "bert-large", "job 1234")
    endings = ("training", "finished", "failed", "lost", "stopped", "paused")
    found: list[RunSummary] = []
    for at in range(n):
        state = endings[at % len(endings)]
        found.append(
            made_up_run(
                f"other{at}",
                name=f"{names[at % len(names)]}" + (f"-{at // 6}" if at > 5 else ""),
                host=("gpu-01", "gpu-02", "node-7")[at % 3],
                state=state,
                actions=[] if state in {"finished", "failed", "lost", "stopped"} else ACTIONS,
                started_wall_s=NOW_WALL_S - 5000.0 * (at + 1),
                epoch=5 + at,
                epochs_done=5 + at,
                verdicts={"ram": "growing"} if at % 4 == 0 else {},
                note="the paper's learning rate" if at % 5 == 0 else "",
                pinned=at == 2,
                stored_bytes=10**6 * (at + 1),
                ram=MetricReading(value=(4 + 3 * at % 60) * GIB, of=192 * GIB),
                cause="out of memory" if state == "lost" else "",
            )
        )
    return found


def open_everything(stage: Stage) -> None:
    """Each page once; the charts are shown at the end."""
    stage.judged()
    stage.live(*fleet(10))
    desk = stage.desk
    parts = desk.controller
    parts.history.open()
    desk.settle()
    parts.history.panel.findChildren(QTableView)[0].selectAll()
    parts.history.panel.selection_bar.do("compare")
    desk.settle()
    parts.history.close()
    parts.preferences.open()
    parts.help.open_keyboard()
    desk.window.header.help_requested.emit()
    desk.window.charts.evidence_requested.emit("ram")
    parts.hosts.open_dialog()
    desk.settle()
    for top in QApplication.topLevelWidgets():
        if top is not desk.window:
            top.close()
    desk.window.show_page(None)
    desk.settle()
