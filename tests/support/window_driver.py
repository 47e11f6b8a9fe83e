"""A real window as a separate process that does with the mouse what a test requests.

`python -m tests.support.window_driver '<json of Errand>'` prints the JSON of `Done`.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from kmonitor.ui.plots.qt.limit_handle import LimitHandle
from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.waiting import wait_until

_STEPS = 30


@dataclass(frozen=True)
class Errand:
    """Instructions for the window.

    Attributes:
        shot: PNG to write at the end.
        gate: File to create once the limit is in force; the training waits for it.
        part: The line is dropped at this part of the value that is reached now.
    """

    shot: str
    gate: str
    part: float = 0.6


@dataclass
class Done:
    """Observations.

    Attributes:
        platform: Qt platform plugin.
        value: The graph's value before the drag.
        looks: Looks of the limit line, in order: offered, pending, in_force.
        limit: The limit in force, as text of its fields.
        flags: Texts of the flags on the graph chart.
        log: Sentences of the event log, newest first.
        sentence: The window's sentence on what will happen at the limit.
        shell_s: Seconds until the window was visible.
    """

    platform: str = ""
    value: float = 0.0
    looks: list[str] = field(default_factory=list)
    limit: dict[str, object] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    sentence: str = ""
    shell_s: float = 0.0


def main(argument: str) -> None:
    """Do the errand."""
    errand = Errand(**json.loads(argument))
    qt = make_qt_application()
    app = KmonitorApp(qt, find_folders(), WindowOptions(size=(1400, 880), theme="dark"))
    done = Done(platform=qt.platformName())
    app.start()
    try:
        _drag_and_wait(qt, app, errand, done)
    finally:
        app.window.grab().save(errand.shot, "PNG")
        app.stop()
    sys.stdout.write(json.dumps(asdict(done)) + "\n")


def _drag_and_wait(qt: QApplication, app: KmonitorApp, errand: Errand, done: Done) -> None:
    done.shell_s = app.shell_s
    _until(
        qt,
        lambda: app.charts_controller is not None and app.charts_controller.is_loaded,
        "charts loaded",
    )
    _until(qt, lambda: _look(app) == "offered", "a limit on offer")
    done.looks.append(_look(app))
    run = _current(app)
    assert run.graph.value is not None
    done.value = run.graph.value
    _settle(qt, 0.5)
    _drag_to(qt, app, done.value * errand.part)
    done.looks.append(_look(app))
    Path(errand.gate).touch()
    _until(qt, lambda: _look(app) == "in_force" and bool(_current(app).limits), "limit in force")
    done.looks.append(_look(app))
    app.controller.refresh()
    done.sentence = app.window.actions_panel.limit_outcome_text()
    limit = _current(app).limits[0]
    done.limit = {"metric": limit.metric, "value": limit.value, "action": limit.action}
    _until(qt, lambda: bool(_flags(app)), "the reload's flag")
    _until(qt, lambda: any("Reloaded" in line for line in _log(app)), "the log's line")
    _settle(qt, 1.0)
    done.flags, done.log = _flags(app), _log(app)


def _look(app: KmonitorApp) -> str:
    assert app.charts_controller is not None
    limit = app.charts_controller.standard_charts.state("graph", 600).limit
    return limit.style if limit else ""


def _flags(app: KmonitorApp) -> list[str]:
    assert app.charts_controller is not None
    return [
        flag.text
        for flag in app.charts_controller.standard_charts.state("graph", 600).flags
        if flag.ok
    ]


def _log(app: KmonitorApp) -> list[str]:
    return [row.line.text for row in app.workspace.log.rows()]


def _current(app: KmonitorApp) -> RunSummary:
    run = app.workspace.run_store.current()
    assert run is not None
    return run


def _drag_to(qt: QApplication, app: KmonitorApp, value: float) -> None:
    """Press on the grip, move in small steps with the button held, let go at a value."""
    assert app.charts_controller is not None
    chart = app.charts_controller.chart("graph")
    grip = chart.findChild(LimitHandle)
    assert isinstance(grip, LimitHandle)
    frame = chart.scene.frame
    middle = QPointF(grip.rect().center())
    from_y = grip.y() + middle.y()
    goal_y = frame.y_px(value)
    QTest.mousePress(grip, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    # QTest.mouseMove holds no button, hence events with one. The grip follows the line.
    for step in range(1, _STEPS + 1):
        y = from_y + (goal_y - from_y) * step / _STEPS
        _move(grip, QPointF(middle.x(), y - grip.y()))
        _settle(qt, 0.01)
    QTest.mouseRelease(grip, Qt.MouseButton.LeftButton, pos=middle.toPoint())


def _move(widget: QWidget, at: QPointF) -> None:
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        at,
        QPointF(widget.mapToGlobal(at)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QCoreApplication.sendEvent(widget, event)


def _until(qt: QApplication, condition: Callable[[], bool], what: str) -> None:
    wait_until(lambda: (qt.processEvents(), condition())[1], what=what)


def _settle(qt: QApplication, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        qt.processEvents()
        QTest.qWait(5)


if __name__ == "__main__":
    main(sys.argv[1])
