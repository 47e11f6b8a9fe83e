"""The settings: in force at once, remembered, and reported where they cannot be."""

from collections.abc import Callable, Iterator

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QMessageBox, QWidget

from kmonitor.hub.options import Keep, load_keep_or_default, save_keep
from kmonitor.ui.settings.qt.settings_window import SettingsWindow
from kmonitor.ui.settings.window_settings import WindowSettings, load_settings
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.text.formats import use_byte_units
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.unions import KeyGrant, KeysReply, KeysRequest
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.made_up_runs import made_up_run, told_hub
from tests.support.settings_bridge import SettingsBridge
from tests.support.started_app import start
from tests.support.waiting import DEADLINE_MS

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = WINDOW

GENERAL, HISTORY, HOSTS, KEYS = range(4)


@pytest.fixture(autouse=True)
def sizes_are_binary_afterwards() -> Iterator[None]:
    yield
    use_byte_units("binary")


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(made_up_run())
    made.window.activateWindow()
    yield made
    made.close()


@pytest.fixture
def bridge(window: DeskWindow) -> SettingsBridge:
    return SettingsBridge(window.controller.preferences)


def opened(window: DeskWindow, page: int = GENERAL) -> SettingsWindow:
    QTest.keyClick(window.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    (settings,) = window.window.findChildren(SettingsWindow)
    settings.show_page(page)
    window.settle()
    return settings


def press(of: QWidget, name: str) -> None:
    button = next(b for b in of.findChildren(QAbstractButton) if b.accessibleName() == name)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def words(of: QWidget) -> str:
    labels = of.findChildren(QLabel)
    return "\n".join(label.text() for label in labels if not label.isHidden())


def type_in(of: QWidget, name: str, text: str) -> None:
    field = next(f for f in of.findChildren(QLineEdit) if f.accessibleName() == name)
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def answer(window: DeskWindow, *, yes: bool) -> None:
    (box,) = window.window.findChildren(QMessageBox)
    role = QMessageBox.ButtonRole.AcceptRole if yes else QMessageBox.ButtonRole.RejectRole
    next(b for b in box.buttons() if box.buttonRole(b) == role).click()
    window.settle()


def test_theme_sizes_and_pace_are_in_force_at_once_and_remembered(window: DeskWindow) -> None:
    settings = opened(window)
    press(settings, "Theme: Light")
    press(settings, "Units: MB, GB")
    press(settings, "Chart updates: Slow")
    while window.look.palette.name != "light":
        window.qt.processEvents()
    window.settle()
    kept = window.controller.settings(WindowSettings())

    assert window.look.palette.name == "light"
    assert "\u202fGB" in words(window.window.cards["ram"])
    assert "GiB" not in words(window.window.cards["ram"])
    assert (kept.theme, kept.byte_units, kept.pace) == ("light", "decimal", "sparing")
    assert "tenth" in words(settings.general)
    settings.close()


def test_every_control_of_the_settings_has_a_name(
    window: DeskWindow, bridge: SettingsBridge
) -> None:
    settings = opened(window)
    window.desk.add_host("gpu-01", "big")
    bridge.reply(
        KeysReply(request_id=2, keys=[KeyGrant(key="ab" * 32, name="anna", role="viewer")])
    )
    for kind in (QAbstractButton, QLineEdit):
        for control in settings.findChildren(kind):
            assert control.accessibleName().strip(": "), control
            assert not control.accessibleName().startswith(":"), control
    settings.close()


def test_less_history_is_asked_before_it_is_written(window: DeskWindow, folders: Folders) -> None:
    settings = opened(window, HISTORY)
    type_in(settings.history, "Days of history", "90")
    assert load_keep_or_default(folders) == Keep()
    answer(window, yes=False)
    assert load_keep_or_default(folders) == Keep()
    type_in(settings.history, "Days of history", "90")
    answer(window, yes=True)

    assert load_keep_or_default(folders) == Keep(90.0, 0)
    settings.close()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Tab])
def test_a_key_that_ends_typing_asks_once_and_answers_nothing(
    window: DeskWindow, folders: Folders, key: Qt.Key
) -> None:
    settings = opened(window, HISTORY)
    field = settings.history.days
    field.setFocus()
    QTest.keyClicks(field, "90")
    QTest.keyClick(field, key)
    window.settle()
    (question,) = settings.findChildren(QMessageBox)

    assert question.isVisible()
    answer(window, yes=True)
    assert load_keep_or_default(folders) == Keep(90.0, 0)
    settings.close()


def test_a_bound_that_is_in_force_in_other_words_is_said_as_usual(window: DeskWindow) -> None:
    settings = opened(window, HISTORY)
    type_in(settings.history, "Days of history", "0")

    assert settings.history.days.text() == ""
    settings.close()


def test_more_history_is_written_at_once(window: DeskWindow, folders: Folders) -> None:
    save_keep(folders, Keep(30.0, 2**30))
    settings = opened(window, HISTORY)
    type_in(settings.history, "Size of the history", "20 GiB")

    assert load_keep_or_default(folders) == Keep(30.0, 20 * 2**30)
    assert not window.window.findChildren(QMessageBox)
    settings.close()


def test_what_is_typed_wrongly_is_told_beside_the_field_and_nothing_is_written(
    window: DeskWindow, folders: Folders
) -> None:
    settings = opened(window, HISTORY)
    type_in(settings.history, "Size of the history", "20 bananas")
    assert "Enter a size" in words(settings.history)
    assert load_keep_or_default(folders) == Keep()
    type_in(settings.history, "Days of history", "soon")

    assert "Enter a number of days" in words(settings.history)
    assert not window.window.findChildren(QMessageBox)
    settings.close()


def test_a_hub_with_bounds_of_its_own_is_told(window: DeskWindow, bridge: SettingsBridge) -> None:
    settings = opened(window, HISTORY)
    bridge.reply(
        msgspec.structs.replace(
            told_hub(), request_id=1, retention_days=7.0, retention_is_fixed=True
        )
    )

    assert "--keep-days" in words(settings.history)
    settings.close()


def test_the_own_key_is_shown_when_it_is_asked_for_and_copied(window: DeskWindow) -> None:
    settings = opened(window, KEYS)
    press(settings.keys, "Show this machine's key")
    press(settings.keys, "Copy")

    assert len(QGuiApplication.clipboard().text()) == 64
    settings.close()


def test_a_key_is_revoked_once_it_was_asked(window: DeskWindow, bridge: SettingsBridge) -> None:
    settings = opened(window, KEYS)
    bridge.reply(
        KeysReply(request_id=2, keys=[KeyGrant(key="ab" * 32, name="anna", role="viewer")])
    )
    press(settings.keys, "Revoke anna")
    answer(window, yes=True)
    asked = [m for m in bridge.asked if isinstance(m, KeysRequest) and m.revoke]

    assert [m.revoke for m in asked] == ["ab" * 32]
    settings.close()


def test_hosts_are_listed_renamed_and_removed(window: DeskWindow) -> None:
    window.desk.add_host("gpu-01", "big")
    settings = opened(window, HOSTS)
    wanted: list[str] = []
    settings.hosts.retry_requested.connect(wanted.append)
    press(settings.hosts, "Connect big")
    press(settings.hosts, "Remove\u2026 big")

    assert wanted == ["gpu-01"]
    assert "never connected" in words(settings.hosts)
    (box,) = window.window.findChildren(QMessageBox)
    assert "big" in box.text()
    box.reject()
    settings.close()


def test_a_window_without_hosts_does_not_forget_when_they_were_seen(folders: Folders) -> None:
    window = DeskWindow(settings=WindowSettings(hosts_seen={"gpu-01": 5.0}))
    kept = window.controller.settings(WindowSettings())
    window.desk.add_host("gpu-02")
    other = window.controller.settings(WindowSettings())
    window.close()

    assert kept.hosts_seen == {"gpu-01": 5.0}
    assert other.hosts_seen == {}


def test_a_real_hub_takes_over_what_the_settings_say(
    start: Callable[..., KmonitorApp], live_hub: LiveHub, folders: Folders, qtbot: object
) -> None:
    app = start(with_hub=False, size=None)
    app.controller.preferences.open()
    (page,) = app.window.findChildren(SettingsWindow)
    until = qtbot.waitUntil  # type: ignore[attr-defined]
    until(lambda: "uses" in words(page.history), timeout=DEADLINE_MS)
    save_keep(folders, Keep(30.0, 0))
    field = page.history.days
    until(lambda: field.text() == "30", timeout=DEADLINE_MS)
    page.general.units_chosen.emit("decimal")
    app.stop()

    assert load_settings(folders.settings).byte_units == "decimal"
