"""The window speaks one language, whole; another is spoken when it is opened again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QMenu,
    QMessageBox,
    QTableView,
)

from kmonitor.alerts.sent_log import SentAlertLog
from kmonitor.ui.alerts.qt.alert_controller import AlertController
from kmonitor.ui.hosts.qt.audit_window import AuditController
from kmonitor.ui.settings.qt import language_controller
from kmonitor.ui.settings.qt.settings_window import SettingsWindow
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor.ui.shell.crash_reports import CrashReport
from kmonitor.ui.shell.first_start import SNIPPET
from kmonitor.ui.shell.qt.crash_controller import CrashController
from kmonitor.ui.text.language import language_tag
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.unions import KeyGrant, KeysReply
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.language_window import chinese
from tests.support.made_up_runs import (
    ACTIONS,
    GIB,
    NOW_WALL_S,
    limit,
    made_up_run,
    reload_record,
    told_hub,
)
from tests.support.made_up_verdicts import LEAK
from tests.support.said_texts import english_in, said_by_all
from tests.support.settings_bridge import SettingsBridge

__all__ = ["chinese"]

pytestmark = WINDOW

LOGS: Final = {"loss": 0.5, "val_loss": 0.7, "mse": 0.01}
EVERYTHING: list[CommandName] = [*ACTIONS, "restart", "auto", "diagnose"]

STAYS: Final = frozenset(
    word
    for line in (
        "kmonitor keras tensorflow python pip hub fit rank ssh id pid gpu cpu ram xla cgroup",
        "uss rss pss",
        "gib mib kib ms min csv html json parquet png svg npz webhook https tcp post user key",
        "tf malloc theil sen auto assign recreate monitorcallback restore commands false",
        "ctrl shift alt space esc enter delete del return left right up down tab pgup pgdown menu",
        "home end",
        "english simplified chinese audit last mb gb slack mattermost ntfy",
    )
    for word in line.split()
)
"""Names, units, formats and keys: the same in Chinese."""

TOLD: Final = (
    "the checkpoint folder is full",
    "/proc/self/statm",
    "resnet50-imagenet",
    "one_step_on_iterator",
    "/path/to/bin/kmonitor",
    *("tf.function", "kmonitor_agent.run_folds()", "run_folds", "collect"),
    SNIPPET,
    *("ssh NAME", "kmonitor authorize", "--keep-days", "--keep-size", "abababababab"),
    *("run --resume-after-crash", "kmonitor checkpoints", "kmonitor restore"),
    *("val_loss", "loss", "mse"),
    *("resnet50", "exp-0", "exp-1", "exp-2", "run1", "old0", "old1", "old2", "dict", "epoch-22"),
)
"""Names by the training and the user, and texts from the training itself."""


def live(window: DeskWindow, **changed: Any) -> None:
    about = {
        "actions": EVERYTHING,
        "limits": [limit("ram", 80 * GIB)],
        "verdicts": {"ram": "suspected"},
    }
    window.tell_runs(
        made_up_run(**{**about, **changed}),
        *(
            made_up_run(f"old{n}", name=f"exp-{n}", state=state, actions=[], started_wall_s=began)
            for n, (state, began) in enumerate(
                (("finished", NOW_WALL_S - 9e4), ("lost", NOW_WALL_S - 9e5), ("failed", 1.7e9))
            )
        ),
    )


def tell_everything(window: DeskWindow) -> None:
    window.tell_events(
        events.FitStarted(t_s=1.0, fit=1, model="resnet50", epochs=90, steps=1563, batch_size=64),
        events.FitEnded(t_s=2.0, fit=1, how="finished", epochs_done=3),
        events.SessionEnded(t_s=3.0, why="interrupted"),
        events.ActionRecord(**msgspec.structs.asdict(reload_record(900.0))),
        reload_record(2300.0, ok=False),
        events.LimitsInForce(t_s=4.0, limits=[limit("ram", 80 * GIB)]),
        events.Diagnosis(
            t_s=3000.0,
            fit=1,
            epoch=30,
            seconds=0.08,
            objects=[events.ObjectGrowth("dict", 90_000, 1200)],
            holders=[],
        ),
        LEAK,
        msgspec.structs.replace(LEAK, metric="graph", state="measuring", units=4, forecast=None),
    )
    window.controller.refresh()
    window.settle()


def add_charts(window: DeskWindow) -> None:
    """Charts of what Keras logged and of other readings, drawn in every way."""
    window.tell_events(
        events.EpochEnded(t_s=3600.0, fit=1, epoch=35, seconds=9.0, logs=LOGS),
        events.EpochEnded(t_s=3700.0, fit=1, epoch=36, seconds=9.0, logs=LOGS),
        events.Sample(t_s=3721.0, ram_bytes=1e9, device_temperature_c=61.0),
    )
    arranger = window.controller.arrangement_controller
    for key in ("log:loss", "log:mse", "device_temperature_c", "epoch:seconds"):
        arranger.add(key)
        arranger.change(key, smoothing=0.6, is_log=True)
    window.answer()
    window.window.charts.show_cards(arranger.arrangement.keys)
    window.settle()


def open_settings(window: DeskWindow) -> None:
    """All pages of the settings, with hosts, keys and a bound that is refused."""
    bridge = SettingsBridge(window.controller.preferences)
    window.desk.add_host("exp-1", "exp-2")
    window.controller.preferences.open()
    bridge.reply(
        msgspec.structs.replace(told_hub(), request_id=1, runs_removed=3, retention_is_fixed=True)
    )
    grants = [KeyGrant(key="ab" * 32, name="exp-0", role="viewer")]
    bridge.reply(KeysReply(request_id=2, keys=grants, address="tcp://10.0.0.1:7"))
    (settings,) = window.window.findChildren(SettingsWindow)
    settings.history.days.setText("many")
    settings.history.days.textEdited.emit("many")
    settings.keys.show_own("kmonitor")


def open_everything(window: DeskWindow) -> None:
    """Every page and dialog that can stand open at once."""
    controller = window.controller
    add_charts(window)
    open_settings(window)
    crashes = CrashController(window.window, window.window)
    crashes.offer([CrashReport(Path("x"), NOW_WALL_S, is_fatal=True, text="kmonitor")])
    window.window.crash_notice.show_requested.emit()
    controller.records.open_end("old2")
    controller.history.open()
    table = controller.history.panel.findChildren(QTableView)[0]
    table.selectRow(0)
    for _ in range(2):
        QTest.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    controller.history.panel.selection_bar.action_requested.emit("compare")
    window.answer()
    window.window.charts.evidence_requested.emit("ram")
    controller.records.open_diagnosis()
    window.window.records.table.record_opened.emit(window.desk.reclaims.rows("run1")[0].row)
    controller.hosts.open_dialog()
    controller.history.open_note_dialog(made_up_run())
    controller.history.open_rename_dialog(made_up_run())
    controller.history.confirm_deletion([made_up_run("old0", state="finished")])
    controller.commands.request("stop")
    window.window.actions_panel.show()
    window.settle()


def without_told(text: str) -> str:
    for told in TOLD:
        text = text.replace(told, "")
    return text


@pytest.fixture
def english() -> Iterator[DeskWindow]:
    """In English, with a run."""
    made = DeskWindow(settings=WindowSettings(language="en"))
    made.connect()
    live(made)
    yield made
    made.close()


@pytest.mark.slow
def test_everything_is_chinese(chinese: DeskWindow, tmp_path: Path) -> None:
    live(chinese)
    tell_everything(chinese)
    alerts = AlertController(chinese.window, chinese.desk, tmp_path, SentAlertLog(tmp_path))
    audit = AuditController(chinese.window, chinese.desk, chinese.look)
    open_everything(chinese)
    chinese.controller.help.open_keyboard()
    chinese.controller.help.open_guide()
    alerts.open()
    audit.open()
    chinese.settle()

    said = said_by_all()
    left = {
        place: text
        for place, text in said.items()
        # The guide's page names what is to be typed; it is compared with the English elsewhere.
        if not ("GuideWindow" in place and place.endswith(".page"))
        and english_in(without_told(text), STAYS)
    }
    alerts.stop()

    assert len(said) > 300
    assert left == {}
    # Texts written from here report the same language.
    assert language_tag() == "zh-CN"


def test_menus_are_made_in_the_language_in_force(chinese: DeskWindow) -> None:
    live(chinese)
    add_charts(chinese)
    header, charts = chinese.window.header, chinese.window.charts
    header.theme_button.click()
    header.add_chart.click()
    for key in ("ram", "log:loss"):
        charts.card(key).open_menu(QPoint())

    menus = chinese.window.findChildren(QMenu)
    said = {f"{action.text()} {action.toolTip()}" for menu in menus for action in menu.actions()}
    for menu in menus:
        menu.close()
    assert len(said) > 40
    assert {text for text in said if english_in(without_told(text), STAYS)} == set()


@pytest.mark.parametrize("at", ["header", "settings", "first start"])
def test_another_language_is_remembered_and_the_window_offers_to_open_again(
    english: DeskWindow, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setattr(language_controller, "has_chinese_font", lambda: True)
    wanted: list[str] = []
    english.controller.choices.reopening_requested.connect(lambda: wanted.append("again"))
    english.controller.preferences.open()
    (settings,) = english.window.findChildren(SettingsWindow)
    places = {
        "header": english.window.header,
        "settings": settings.general,
        "first start": english.window.first_start.choices,
    }

    places[at].language_chosen.emit("zh_CN")
    english.settle()

    assert english.language.current_language == "en"
    assert english.controller.settings(WindowSettings()).language == "zh_CN"
    (box,) = english.window.findChildren(QMessageBox)
    assert "when the window is restarted" in box.text()
    next(button for button in box.buttons() if button.text() == "Restart").click()
    assert wanted == ["again"]
    settings.close()


def test_the_language_that_is_spoken_already_is_no_question(english: DeskWindow) -> None:
    english.window.header.language_chosen.emit("en")

    assert english.window.findChildren(QMessageBox) == []


def test_the_choice_is_marked(chinese: DeskWindow) -> None:
    live(chinese)
    chinese.window.header.theme_button.click()
    menu = chinese.window.header.findChild(QMenu)
    assert isinstance(menu, QMenu)
    marked = [
        action.text()
        for part in menu.findChildren(QMenu)
        for action in part.actions()
        if action.isChecked()
    ]
    menu.close()

    assert marked == [language_controller.language_titles()["zh_CN"]]


def test_without_a_font_the_window_says_so_and_stays_readable(
    english: DeskWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_controller, "has_chinese_font", lambda: False)

    english.window.header.language_chosen.emit("zh_CN")

    (box,) = english.window.findChildren(QMessageBox)
    assert "no font with Chinese characters" in box.text()
    assert "fonts-wqy-microhei" in box.informativeText()
    assert english.language.language == "zh_CN"
    assert english.language.current_language == "en"


@pytest.mark.parametrize(
    ("languages", "spoken"),
    [
        (["zh-Hans-CN", "zh-CN", "zh"], "zh_CN"),
        (["de-DE", "zh-CN", "en"], "zh_CN"),
        (["en-US", "zh-CN"], "en"),
        (["zh-Hant-TW", "zh-TW"], "en"),
        (["C"], "en"),
        ([], "en"),
    ],
)
def test_the_system_says_which_language_unless_one_is_chosen(
    english: DeskWindow, monkeypatch: pytest.MonkeyPatch, languages: list[str], spoken: str
) -> None:
    class System:
        @staticmethod
        def system() -> "System":
            return System()

        def uiLanguages(self) -> list[str]:  # noqa: N802 - Qt's name
            return languages

    monkeypatch.setattr(language_controller, "QLocale", System)
    monkeypatch.setattr(language_controller, "has_chinese_font", lambda: True)

    assert english.language.choose("system") == spoken
    assert english.language.choose("en") == "en"


def test_a_language_is_called_so_that_it_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_controller, "has_chinese_font", lambda: False)

    titles = language_controller.language_titles()

    assert titles == {"en": "English", "zh_CN": "Chinese (Simplified)"}
