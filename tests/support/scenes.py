"""Every panel and state of the window, each set up from made-up messages at a moment that stands.

`python -m tests.support.scenes FOLDER '<json of Wanted>'` draws them into PNG files, in a separate
process: neither the tests before it nor the clock leave a trace in a picture.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from PySide6.QtCore import QLocale, QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTableView, QWidget

from kmonitor.alerts.sent_log import SentAlertLog
from kmonitor.ui.alerts.qt.alert_controller import AlertController
from kmonitor.ui.events.qt.detail_windows import DiagnosisWindow, RecordWindow
from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.history.qt.history_controller import NoteDialog
from kmonitor.ui.hosts.audit import AuditHub, AuditStore
from kmonitor.ui.hosts.qt.audit_window import AuditWindow
from kmonitor.ui.hosts.qt.host_menus import ConnectDialog
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor.ui.verdicts.qt.verdict_window import VerdictWindow
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.commands import CommandStatus
from kmonitor_agent.wire.messages.unions import (
    AuditReply,
    AuditRow,
    CommandReply,
    CommandRequest,
    MetricReading,
)
from tests.support.chart_scenes import CHART_SCENES
from tests.support.made_up_runs import (
    GIB,
    NOW_WALL_S,
    limit,
    made_up_run,
    reload_record,
    told_hub,
    told_runs,
)
from tests.support.map_scenes import MAP_SCENES
from tests.support.page_scenes import PAGE_SCENES
from tests.support.stage import LONG, Stage, fleet
from tests.support.study_scenes import STUDY_SCENES

FAR: Final = "me@gpu-02"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pictures to draw.

    Attributes:
        scenes: Names; none: all.
        themes: "dark", "light".
        languages: "en", "zh_CN"; one that cannot be shown here is left out.
    """

    scenes: list[str] = field(default_factory=list[str])
    themes: list[str] = field(default_factory=lambda: ["dark", "light"])
    languages: list[str] = field(default_factory=lambda: ["en"])


def connecting(stage: Stage) -> QWidget:
    stage.desk.settle()
    return stage.window


def live(stage: Stage) -> QWidget:
    return stage.judged()


def every_state(stage: Stage) -> QWidget:
    return stage.every_state()


def one_run(stage: Stage) -> QWidget:
    return stage.live()


def silent(stage: Stage) -> QWidget:
    return stage.live(state="silent", last_wall_s=NOW_WALL_S - 38.0)


def hub_lost(stage: Stage) -> QWidget:
    stage.judged(last_wall_s=NOW_WALL_S - 102.0)
    stage.desk.desk.disconnected("gone", retry_in_s=4.0, since_wall_s=NOW_WALL_S - 100.0)
    stage.desk.settle()
    return stage.window


def host_lost(stage: Stage) -> QWidget:
    stage.live()
    desk = stage.desk.desk
    desk.add_host(FAR, "the big one")
    desk.connected(told_hub(hub="far"), FAR)
    far = made_up_run("far1", name="vit-finetune", host="gpu-02", last_wall_s=NOW_WALL_S - 32.0)
    stage.desk.runs["far1"] = far
    desk.apply_message(told_runs(far, hub="far"), FAR)
    desk.select("far1")
    stage.desk.answer()
    desk.disconnected("gone", retry_in_s=4.0, since_wall_s=NOW_WALL_S - 30.0, at=FAR)
    desk.set_route(FAR, "closed", "ssh ended: connection reset by peer.", "", retry_in_s=4.0)
    stage.desk.settle()
    return stage.window


def finished(stage: Stage) -> QWidget:
    return stage.live(state="finished", actions=[], epochs_done=90, epoch=89)


def out_of_memory(stage: Stage) -> QWidget:
    stage.live(state="lost", actions=[], cause="out of memory")
    died = events.SessionDied(t_s=3719.0, session="0" * 32, how="memory", signal="SIGKILL")
    stage.tell(reload_record(), died)
    stage.desk.settle()
    return stage.window


def failed(stage: Stage) -> QWidget:
    return stage.live(state="failed", actions=[], cause="ResourceExhaustedError")


def reloading(stage: Stage) -> QWidget:
    stage.live(state="reclaiming")
    desk = stage.desk
    desk.window.actions_panel.command_requested.emit("reload", "")
    asked, command = next(pair for pair in desk.asked if isinstance(pair[1], CommandRequest))
    assert isinstance(command, CommandRequest)
    status = CommandStatus(id=command.id, run="run1", name="reload", state="started")
    desk.desk.apply_message(CommandReply(request_id=asked, status=status))
    desk.settle()
    return stage.window


def no_gpu(stage: Stage) -> QWidget:
    source = "tensorflow allocator, CPU:0 in use (tensors of 256 KiB or more)"
    stage.live(
        vram=MetricReading(value=866 * 1024.0, source=source),
        graph=MetricReading(absent="this backend keeps no graph"),
    )
    missing = events.FieldSource(
        "device_used_bytes", "bytes", absent="no NVIDIA driver on this host"
    )
    stage.tell(events.FieldSources(t_s=1.0, sources=[missing]))
    return stage.window


def no_permission(stage: Stage) -> QWidget:
    stage.desk.desk.connected(msgspec.structs.replace(told_hub(), role="viewer"))
    stage.desk.tell_runs(made_up_run(limits=[limit()]))
    return stage.window


def thirty_runs(stage: Stage) -> QWidget:
    return stage.live(*fleet(29))


def long_name(stage: Stage) -> QWidget:
    return stage.live(
        made_up_run("r2", name=LONG + "_again", started_wall_s=1.0),
        name=LONG,
        gaps=3,
        faults=1,
        fit=12,
        fits_done=11,
        limits=[limit()],
    )


def chinese_name(stage: Stage) -> QWidget:
    return stage.live(
        made_up_run("r2", name="bert-中文-分类"), name="实验-多语言大模型微调", host="工作站-李明"
    )


def app_failed(stage: Stage) -> QWidget:
    stage.live()
    log = "/home/somebody/.local/state/kmonitor/logs/app.log"
    stage.desk.desk.link.fail("FileNotFoundError: resource icons/x.svg is missing", log)
    stage.desk.settle()
    return stage.window


def reclaims(stage: Stage) -> QWidget:
    stage.judged()
    kept = events.Footprint(
        ram_process_bytes=61 * GIB, allocator_in_use_bytes=42 * GIB, graph_operations=20900
    )
    failed_reload = reload_record(3000.0, ok=False)
    stage.tell(msgspec.structs.replace(failed_reload, epoch=29, before=kept, after=kept))
    stage.desk.window.records.show_tab("reclaims")
    stage.desk.settle()
    return stage.window


def limit_menu(stage: Stage) -> QWidget:
    stage.judged()
    card = stage.desk.window.cards["ram"]
    card.limit_button.click()
    stage.desk.settle()
    menu = QApplication.activePopupWidget()
    assert menu is not None
    return menu


def crosshair(stage: Stage) -> QWidget:
    stage.live(*fleet(3))
    stage.desk.window.cards["ram"].crosshair_moved.emit("ram", 20.0)
    stage.desk.qt.processEvents()
    return stage.window


def verdict_sheet(stage: Stage) -> QWidget:
    stage.judged()
    stage.desk.window.charts.evidence_requested.emit("ram")
    return stage.only(VerdictWindow)


def record_sheet(stage: Stage) -> QWidget:
    stage.judged()
    row = stage.desk.desk.reclaims.rows("run1")[0].row
    stage.desk.window.records.table.record_opened.emit(row)
    return stage.only(RecordWindow)


def diagnosis(stage: Stage) -> QWidget:
    stage.judged()
    found = events.Diagnosis(
        t_s=3000.0,
        fit=1,
        epoch=30,
        seconds=0.08,
        objects=[
            events.ObjectGrowth("Tensor", 90_000, 1200),
            events.ObjectGrowth("dict", 4000, 12),
        ],
        holders=["12 traces held by `my_step` (user tf.function)"],
    )
    stage.tell(found)
    stage.desk.controller.records.open_diagnosis()
    return stage.only(DiagnosisWindow)


def history(stage: Stage) -> QWidget:
    stage.live(*fleet(29))
    stage.desk.controller.history.open()
    stage.desk.settle()
    return stage.window


def no_history(stage: Stage) -> QWidget:
    stage.live()
    pages = stage.desk.controller.history
    pages.open()
    pages.panel.search.setText("nothing is called like this")
    stage.desk.settle()
    return stage.window


def compare(stage: Stage) -> QWidget:
    stage.live(*fleet(5))
    stage.desk.controller.history.open()
    table = stage.desk.controller.history.panel.findChildren(QTableView)[0]
    table.selectAll()
    stage.desk.controller.history.panel.selection_bar.do("compare")
    stage.desk.settle()
    stage.desk.answer()
    stage.desk.settle()
    return stage.window


def note(stage: Stage) -> QWidget:
    stage.live(note="the paper's learning rate")
    stage.desk.controller.history.open()
    stage.desk.settle()
    stage.desk.controller.history.panel.selection_bar.do("note")
    return stage.only(NoteDialog)


def deletion(stage: Stage) -> QWidget:
    stage.live(state="finished", actions=[], stored_bytes=10**8)
    stage.desk.controller.history.open()
    stage.desk.settle()
    stage.desk.controller.history.panel.selection_bar.do("delete")
    stage.desk.settle()
    box = QApplication.activeModalWidget()
    assert box is not None
    return box


def stop_question(stage: Stage) -> QWidget:
    stage.live()
    stage.desk.window.actions_panel.command_requested.emit("stop", "")
    stage.desk.settle()
    box = QApplication.activeModalWidget()
    assert box is not None
    return box


def alerts(stage: Stage) -> QWidget:
    stage.judged()
    folder = Path(os.environ["KMONITOR_HOME"])
    controller = AlertController(stage.desk.window, stage.desk.desk, folder, SentAlertLog(folder))
    if stage.desk.board is not None:
        controller.attach_controller(stage.desk.board)
    stage.kept.append(controller)
    controller.open()
    stage.desk.settle()
    dialog = QApplication.activeWindow()
    assert dialog is not None
    return dialog


def audit(stage: Stage) -> QWidget:
    stage.live()
    listed = AuditWindow(stage.desk.look, stage.desk.window)
    asked: list[int] = []

    def ask(_message: msgspec.Struct) -> int:
        asked.append(len(asked) + 1)
        return asked[-1]

    book = AuditStore(lambda _run: "resnet50-imagenet")
    book.show_hubs([AuditHub("", "gpu-01", ask)])
    book.refresh()
    rows = [
        AuditRow(
            row=n,
            wall_s=NOW_WALL_S - 400.0 * n,
            who="tester",
            what=what,
            run="run1",
            subject="",
            result=result,
        )
        for n, (what, result) in enumerate(
            [("command save", "done"), ("command stop", "refused: viewer"), ("rename", "done")], 1
        )
    ]
    book.apply_reply(AuditReply(request_id=asked[-1], rows=rows))
    listed.show_state(book.state(NOW_WALL_S))
    listed.show()
    return stage.only(AuditWindow)


def connect_dialog(stage: Stage) -> QWidget:
    stage.live()
    stage.desk.controller.hosts.open_dialog()
    return stage.only(ConnectDialog)


def guide(stage: Stage) -> QWidget:
    stage.live()
    stage.desk.window.header.help_requested.emit()
    return stage.only(GuideWindow)


SCENES: Final[dict[str, Callable[[Stage], QWidget]]] = {
    scene.__name__: scene
    for scene in (
        *PAGE_SCENES, *CHART_SCENES, *MAP_SCENES, *STUDY_SCENES,
        connecting, live, every_state, one_run, silent, hub_lost, host_lost, finished,
        out_of_memory, failed, reloading, no_gpu, no_permission, thirty_runs, long_name,
        chinese_name, app_failed, reclaims, limit_menu, crosshair, verdict_sheet, record_sheet,
        diagnosis, history, no_history, compare, note, deletion, stop_question, alerts, audit,
        connect_dialog, guide,
    )
}  # fmt: skip
"""By name; each sets a stage and returns the widget to draw."""


def stand_still() -> None:
    """One moment, one time zone, one locale, and no cursor that blinks."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    time.time = lambda: NOW_WALL_S
    QLocale.setDefault(QLocale.c())


def draw(name: str, theme: str, language: Any, file: Path) -> bool:
    """One picture; whether the language could be spoken."""
    stage = Stage(theme=theme, settings=WindowSettings(language=language))
    try:
        if stage.desk.language.current_language != language:
            return False
        QApplication.setCursorFlashTime(0)
        shown = SCENES[name](stage)
        focused = QApplication.focusWidget()
        if focused is not None and shown is stage.window:
            stage.desk.window.leave_focus_alone()
        QTest.mouseMove(stage.window, QPoint(1, 1))
        for _ in range(3):
            stage.desk.qt.processEvents()
        shown.grab().save(str(file), "PNG")
    finally:
        stage.close()
    return True


def main() -> None:
    """Draw what is wanted, one file each: NAME-THEME-LANGUAGE.png."""
    folder, wanted = Path(sys.argv[1]), Wanted(**json.loads(sys.argv[2]))
    folder.mkdir(parents=True, exist_ok=True)
    stand_still()
    for name in wanted.scenes or SCENES:
        for theme in wanted.themes:
            for language in wanted.languages:
                draw(name, theme, language, folder / f"{name}-{theme}-{language}.png")


if __name__ == "__main__":
    main()
