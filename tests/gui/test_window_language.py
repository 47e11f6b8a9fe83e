"""The window's language: switched live, whole, and without losing what the user did."""

from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QTableView,
)

from kmonitor.desktop import language_keeper
from kmonitor.desktop.alert_controller import AlertController
from kmonitor.desktop.audit_controller import AuditController
from kmonitor.desktop.controls.segments import Segments
from kmonitor.desktop.crash_controller import CrashController
from kmonitor.desktop.crash_trail import Crash
from kmonitor.desktop.panels.connect_dialog import ConnectDialog
from kmonitor.desktop.panels.note_dialog import NoteDialog
from kmonitor.desktop.panels.settings_window import SettingsWindow
from kmonitor.desktop.settings_file import WindowSettings
from kmonitor.presenters.first_start import SNIPPET
from kmonitor.presenters.hub_settings import HubSettingsDesk
from kmonitor.presenters.language import language_tag
from kmonitor_agent.protocol import facts
from kmonitor_agent.protocol.commands import CommandName
from kmonitor_agent.protocol.messages import KeyGrant, KeysTold
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.language_window import window
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

__all__ = ["window"]

pytestmark = WINDOW

LOGS: Final = {"loss": 0.5, "val_loss": 0.7, "mse": 0.01}
NUMBERS: Final = count(1)
EVERYTHING: list[CommandName] = [*ACTIONS, "restart", "auto", "diagnose"]

STAYS: Final = frozenset(
    word
    for line in (
        "kmonitor keras tensorflow python pip hub fit rank ssh id pid gpu cpu ram xla cgroup",
        "gib mib kib ms min csv html json parquet png svg npz webhook https tcp post user key",
        "tf malloc theil sen auto assign recreate monitorcallback restore commands false",
        "ctrl shift alt space esc enter delete del return left right up down tab pgup pgdown menu",
        "home end",
        "english simplified chinese audit last mb gb",
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
"""What the training and the user call things, and what the training says of itself."""


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
        facts.FitStarted(t_s=1.0, fit=1, model="resnet50", epochs=90, steps=1563, batch_size=64),
        facts.FitEnded(t_s=2.0, fit=1, how="finished", epochs_done=3),
        facts.BootEnded(t_s=3.0, why="interrupted"),
        facts.ActionRecord(**msgspec.structs.asdict(reload_record(900.0))),
        reload_record(2300.0, ok=False),
        facts.LimitsInForce(t_s=4.0, limits=[limit("ram", 80 * GIB)]),
        facts.Diagnosis(
            t_s=3000.0,
            fit=1,
            epoch=30,
            seconds=0.08,
            objects=[facts.ObjectGrowth("dict", 90_000, 1200)],
            holders=[],
        ),
        LEAK,
        msgspec.structs.replace(LEAK, metric="graph", state="learning", units=4, forecast=None),
    )
    window.controller.refresh()
    window.settle()


def add_charts(window: DeskWindow) -> None:
    """Charts of what Keras logged and of other readings, drawn in every way."""
    window.tell_events(
        facts.EpochEnded(t_s=3600.0, fit=1, epoch=35, seconds=9.0, logs=LOGS),
        facts.EpochEnded(t_s=3700.0, fit=1, epoch=36, seconds=9.0, logs=LOGS),
        facts.Sample(t_s=3721.0, ram_bytes=1e9, device_temperature_c=61.0),
    )
    arranger = window.controller.arranger
    for key in ("log:loss", "log:mse", "device_temperature_c", "epoch:seconds"):
        arranger.add(key)
        arranger.change(key, smoothing=0.6, is_log=True)
    window.answer()
    window.window.charts.show_cards(arranger.arrangement.keys)
    window.settle()


def open_settings(window: DeskWindow) -> None:
    """All pages of the settings, with hosts, keys and a bound that is refused."""
    hub = HubSettingsDesk(lambda _message: next(NUMBERS))
    hub.refresh()
    asked = sorted(hub._asked)
    hub.take(msgspec.structs.replace(told_hub(), ask=asked[0], runs_removed=3, keep_is_fixed=True))
    grants = [KeyGrant(key="ab" * 32, name="exp-0", role="viewer")]
    hub.take(KeysTold(ask=asked[1], keys=grants, address="tcp://10.0.0.1:7"))
    window.controller.preferences._hub = hub
    window.desk.add_host("exp-1", "exp-2")
    window.controller.preferences.open()
    (settings,) = window.window.findChildren(SettingsWindow)
    settings.history.findChildren(QLineEdit)[0].setText("many")
    settings.history._check()
    settings.keys.show_own("kmonitor")


def open_everything(window: DeskWindow) -> None:
    """Every page and dialog that can stand open at once."""
    controller = window.controller
    add_charts(window)
    open_settings(window)
    crashes = CrashController(window.window, window.window)
    crashes.offer([Crash(Path("x"), NOW_WALL_S, is_fatal=True, text="kmonitor")])
    crashes._on_bar_show_requested()
    controller.records.open_end("old2")
    controller.history.open()
    table = controller.history.panel.findChildren(QTableView)[0]
    table.selectRow(0)
    for _ in range(2):
        QTest.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    controller.history._on_strip_wanted("compare")
    window.answer()
    controller.verdicts._on_card_evidence_wanted("ram")
    controller.records.open_diagnosis()
    controller.records._on_table_record_opened(window.desk.reclaims.rows("run1")[0].row)
    controller.hosts.open_dialog()
    controller.history._ask_note(made_up_run())
    controller.history._ask_name(made_up_run())
    controller.history._ask_deletion([made_up_run("old0", state="finished")])
    controller.commands.request("stop")
    window.window.actions_panel.show()
    window.settle()


def without_told(text: str) -> str:
    for told in TOLD:
        text = text.replace(told, "")
    return text


def settle(window: DeskWindow) -> None:
    window.settle()
    # Labels that were made anew: those before them are gone.
    window.qt.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)  # type: ignore[arg-type]


def switch(window: DeskWindow, language: str) -> None:
    window.window.header.language_chosen.emit(language)
    settle(window)


@pytest.mark.slow
def test_everything_is_chinese_at_once_and_the_same_english_again(
    window: DeskWindow, tmp_path: Path
) -> None:
    live(window)
    tell_everything(window)
    alerts = AlertController(window.window, window.desk, tmp_path)
    audit = AuditController(window.window, window.desk, window.look)
    open_everything(window)
    window.controller.help.open_keyboard()
    window.controller.help.open_guide()
    alerts.open()
    audit.open()
    assert window.board is not None
    window.board.reword()
    settle(window)
    english = said_by_all()

    window.language.changed.connect(audit.retranslate)
    switch(window, "zh_CN")
    chinese = said_by_all()
    left = {
        place: text
        for place, text in chinese.items()
        # The guide's page names what is to be typed; it is compared with the English elsewhere.
        if not ("GuideWindow" in place and place.endswith(".page"))
        and english_in(without_told(text), STAYS)
    }
    switch(window, "en")

    alerts.stop()
    assert left == {}
    assert set(chinese) == set(english)
    again = said_by_all()
    assert {place: text for place, text in again.items() if text != english.get(place)} == {}


def test_menus_are_made_in_the_language_in_force(window: DeskWindow) -> None:
    live(window)
    add_charts(window)
    switch(window, "zh_CN")
    header, charts = window.window.header, window.window.charts
    header._on_theme_button_clicked()
    header.add_chart.click()
    for key in ("ram", "log:loss"):
        charts.card(key)._open_menu(QPoint())

    menus = window.window.findChildren(QMenu)
    said = {f"{action.text()} {action.toolTip()}" for menu in menus for action in menu.actions()}
    for menu in menus:
        menu.close()
    assert len(said) > 40
    assert {text for text in said if english_in(without_told(text), STAYS)} == set()


def test_the_settings_choose_the_language_and_keep_what_is_typed(window: DeskWindow) -> None:
    live(window)
    window.controller.preferences.open()
    settings = window.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    settings.show_page(1)
    days = settings.history.findChildren(QLineEdit)[0]
    days.setText("9")

    settings.general.language_chosen.emit("zh_CN")
    settle(window)

    assert window.language.spoken == "zh_CN"
    assert settings.isVisible()
    assert (settings.page, settings.windowTitle(), days.text()) == (1, "\u8bbe\u7f6e", "9")
    settings.close()


def test_the_page_before_the_first_run_chooses_the_language(window: DeskWindow) -> None:
    choices = window.window.first_start.choices
    language = choices.findChildren(Segments)[1]
    press = {button.text(): button for button in language.findChildren(QPushButton)}

    press[language_keeper.language_titles()["zh_CN"]].click()

    assert window.language.spoken == "zh_CN"
    assert language.accessibleName() == "\u8bed\u8a00"
    assert window.controller.settings(WindowSettings()).language == "zh_CN"


def test_what_was_chosen_typed_and_zoomed_stays(window: DeskWindow) -> None:
    live(window)
    assert window.board is not None
    window.controller._on_run_tree_run_chosen("old1")
    window.controller._on_run_tree_run_chosen("run1")
    window.board.presenter.zoom(5.0, 12.0)
    window.window.run_tree._search.setText("resnet")
    window.controller.hosts.open_dialog()
    dialog = window.window.findChild(ConnectDialog)
    assert isinstance(dialog, ConnectDialog)
    address = dialog.findChildren(QLineEdit)[0]
    address.setText("gpu-0")
    window.controller.history._ask_note(made_up_run(note="seen"))
    note = window.window.findChild(NoteDialog)
    assert isinstance(note, NoteDialog)
    note.findChildren(QPlainTextEdit)[0].setPlainText("half a sen")

    switch(window, "zh_CN")

    assert window.desk.book.selected == "run1"
    assert window.board.presenter.x_range() == (5.0, 12.0)
    assert window.window.run_tree._search.text() == "resnet"
    assert dialog.isVisible()
    assert note.isVisible()
    assert address.text() == "gpu-0"
    assert note.findChildren(QPlainTextEdit)[0].toPlainText() == "half a sen"
    assert note.windowTitle() == "\u5907\u6ce8"


def test_a_question_that_is_open_is_asked_in_the_new_language(window: DeskWindow) -> None:
    live(window)
    window.controller.commands.request("stop")
    (box,) = window.window.findChildren(QMessageBox)

    switch(window, "zh_CN")

    assert box.isVisible()
    assert box.text() == "\u505c\u6b62\u201cresnet50-imagenet\u201d\uff1f"
    assert [button.text() for button in box.buttons()] == [
        "\u505c\u6b62\u8bad\u7ec3",
        "\u7ee7\u7eed\u8fd0\u884c",
    ]


def test_the_choice_is_remembered_and_marked(window: DeskWindow) -> None:
    live(window)

    switch(window, "zh_CN")
    window.window.header._on_theme_button_clicked()
    menu = window.window.header.findChild(QMenu)
    assert isinstance(menu, QMenu)
    marked = [
        action.text()
        for part in menu.findChildren(QMenu)
        for action in part.actions()
        if action.isChecked()
    ]
    menu.close()

    assert window.controller.settings(WindowSettings()).language == "zh_CN"
    # What is written from here says the same of itself.
    assert language_tag() == "zh-CN"
    assert marked == [language_keeper.language_titles()["zh_CN"]]


def test_without_a_font_the_window_says_so_and_stays_readable(
    window: DeskWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_keeper, "has_chinese_font", lambda: False)
    live(window)
    before = window.window.header._help.toolTip()

    switch(window, "zh_CN")

    (box,) = window.window.findChildren(QMessageBox)
    assert "no font with Chinese letters" in box.text()
    assert "fonts-wqy-microhei" in box.informativeText()
    assert window.window.header._help.toolTip() == before
    assert window.language.language == "zh_CN"
    assert window.language.spoken == "en"


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
    window: DeskWindow, monkeypatch: pytest.MonkeyPatch, languages: list[str], spoken: str
) -> None:
    class System:
        @staticmethod
        def system() -> "System":
            return System()

        def uiLanguages(self) -> list[str]:  # noqa: N802 - Qt's name
            return languages

    monkeypatch.setattr(language_keeper, "QLocale", System)

    window.language.choose("system")

    assert window.language.spoken == spoken
    window.language.choose("en")
    assert window.language.spoken == "en"


def test_a_language_is_called_so_that_it_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_keeper, "has_chinese_font", lambda: False)

    titles = language_keeper.language_titles()

    assert titles == {"en": "English", "zh_CN": "Chinese (Simplified)"}
