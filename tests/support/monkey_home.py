"""One known state of a window, and what is left in it: more than before is then a leak."""

import ctypes
import gc
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QApplication, QToolTip

from kmonitor.ui.memory.run_subject import run_device_split
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.shell.qt.app import KmonitorApp
from tests.support.watched_loop import WatchedLoop


@dataclass(frozen=True, slots=True)
class Calm:
    """Objects and memory that exist while nothing happens."""

    windows: Counter[str]
    widgets: Counter[str]
    timers: int
    threads: Counter[str]
    objects: int
    rss_bytes: int


def bring_home(app: KmonitorApp, loop: WatchedLoop, name: str, say: Callable[[str], None]) -> None:
    """The usual charts of a run that was short, all else closed and opened once before.

    Args:
        app: The window.
        loop: Its loop.
        name: Name of its own run and of no other.
        say: Starts and ends that run: "start", "end".
    """
    _close_all(app)
    loop.until(lambda: app.workspace.link.is_live, "the hub")
    say("start")
    loop.until(lambda: any(_begun(app, name)), "an epoch of the new run")
    run = next(_begun(app, name))
    app.window.run_tree.run_chosen.emit(run)
    _open_all(app, loop, run)
    _close_all(app)
    app.window.resize(1280, 760)
    app.window.records.show_tab("events")
    # Cards that were added are the user's, and no leak.
    app.controller.arrangement_controller.reset()
    if app.hosts is not None:
        # Each has its own threads for as long as it is shown.
        for address in [address for address in app.hosts.bridges() if address]:
            app.hosts.remove(address)
    # The clipboard holds what was copied last.
    QApplication.clipboard().clear()
    # While it continues the header has more chips or less.
    say("end")
    loop.until(lambda: _has_ended(app, run), "its end")
    app.window.run_tree.run_chosen.emit(run)
    loop.rest(1.0)


def counted(app: KmonitorApp) -> Calm:
    """Objects and memory now; what is only kept for another use is given back before."""
    gc.collect()
    QPixmapCache.clear()
    ctypes.CDLL(None).malloc_trim(0)
    widgets = Counter(type(widget).__name__ for widget in QApplication.allWidgets())
    windows = Counter(type(window).__name__ for window in QApplication.topLevelWidgets())
    return Calm(
        windows=windows,
        widgets=widgets,
        timers=len(app.findChildren(QTimer)) + len(app.window.findChildren(QTimer)),
        threads=Counter(thread.name for thread in threading.enumerate()),
        objects=len(gc.get_objects()),
        rss_bytes=int(Path("/proc/self/statm").read_text().split()[1])
        * os.sysconf("SC_PAGE_SIZE"),
    )


def _begun(app: KmonitorApp, name: str) -> Iterator[str]:
    """Live runs of that name that have ended an epoch."""
    runs = app.workspace.run_store.runs()
    return (run.run for run in runs if run.name == name and run.epochs_done and not has_ended(run))


def _has_ended(app: KmonitorApp, run: str) -> bool:
    summary = app.workspace.run_store.get(run)
    return summary is not None and has_ended(summary)


def _open_all(app: KmonitorApp, loop: WatchedLoop, run: str) -> None:
    parts = app.controller
    parts.commands.request("collect", "")
    loop.until(lambda: app.workspace.reclaims.rows(run), "the record")
    record = app.workspace.reclaims.rows(run)[0].row
    pages: dict[str, Callable[[], object]] = {
        "history": parts.history.open,
        "memory map": parts.memory.open,
        "device": lambda: _show_device(app, run),
        "comparison": lambda: parts.history.comparison.open([run]),
        "record": lambda: app.window.records.table.record_opened.emit(record),
        "diagnosis": parts.records.open_diagnosis,
        "end": lambda: parts.records.open_end(run),
        "evidence": lambda: app.window.charts.evidence_requested.emit("ram"),
        "guide": parts.help.open_guide,
        "keyboard": parts.help.open_keyboard,
        "settings": parts.preferences.open,
        "audit": app.audit.open,
        "alerts": app.alerts.open,
    }
    for name, opened in pages.items():
        loop.watched("open", name, opened)
        loop.rest(0.1)
        _close_all(app)


def _show_device(app: KmonitorApp, run: str) -> None:
    # Its lines stay as they were last shown; this run has no map that could lead there.
    summary, memory = app.workspace.run_store.get(run), app.controller.memory
    assert summary is not None
    memory.panel.split.show_state(run_device_split(app.workspace, summary, memory.map_estimator))


def _close_all(app: KmonitorApp) -> None:
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
    QToolTip.hideText()
    for top in QApplication.topLevelWidgets():
        if top is not app.window:
            top.close()
    app.controller.memory.close()
    app.controller.history.close()
