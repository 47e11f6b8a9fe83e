"""Alerts in the window: rules are chosen, what is due is shown and leads to its run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtWidgets import QCheckBox, QDialogButtonBox, QLineEdit, QPushButton, QSpinBox

from kmonitor.alerts.delivery import AlertSender, Delivery
from kmonitor.alerts.evaluator import Alert
from kmonitor.alerts.retries import Retry
from kmonitor.alerts.rules import (
    AlertRule,
    AlertSettings,
    load_alert_settings,
    save_alert_settings,
)
from kmonitor.alerts.sent_log import SentAlertLog
from kmonitor.ui.alerts.qt.alert_controller import (
    AlertController,
    DesktopNotifications,
    icon_with_dot,
)
from kmonitor.ui.alerts.qt.alerts_dialog import AlertsDialog
from kmonitor_agent.wire.messages import events
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import GIB, limit, made_up_run, told_hub
from tests.support.waiting import DEADLINE_MS

pytestmark = WINDOW

CROSSED = events.LimitCrossed(
    t_s=3719.0, metric="ram", action="reload", value=90 * GIB, threshold=72 * GIB
)


class Told:
    """Stands in for the desktop's tray, which no test has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.alerts: list[Alert] = []
        monkeypatch.setattr(
            DesktopNotifications, "notify", lambda _, alert: self.alerts.append(alert)
        )


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    window = DeskWindow()
    window.connect()
    yield window
    window.close()


@pytest.fixture
def alerts(window: DeskWindow, tmp_path: Path, told: Told) -> Iterator[AlertController]:
    controller = AlertController(window.window, window.desk, tmp_path, SentAlertLog(tmp_path))
    if window.board is not None:
        controller.attach_controller(window.board)
    controller.start()
    yield controller
    controller.stop()


def opened(window: DeskWindow) -> AlertsDialog:
    window.window.header.alerts_requested.emit()
    dialog = window.window.findChild(AlertsDialog)
    assert isinstance(dialog, AlertsDialog)
    return dialog


def test_a_crossed_limit_is_told_and_leads_to_its_run(
    window: DeskWindow, alerts: AlertController, told: Told
) -> None:
    now_wall_s = window.desk.now_wall_s()
    window.tell_runs(
        made_up_run("run1", started_wall_s=now_wall_s - 3720.0),
        made_up_run("run2", name="other", started_wall_s=now_wall_s - 3720.0),
    )
    window.tell_events(CROSSED, run="run2")
    alerts.timer.timeout.emit()
    alerts.timer.timeout.emit()

    (alert,) = told.alerts
    assert (alert.title, alert.kind, alert.host) == ("other", "limit", "gpu-01")
    wanted: list[str] = []
    alerts.run_requested.connect(wanted.append)
    alerts.desktop_notifications.window_requested.emit()
    assert wanted == ["run2"]


@pytest.mark.parametrize(
    ("hub_alerts", "sent"), [("", True), ("off", False), ("on", False)], ids=["old", "off", "on"]
)
def test_what_the_own_hub_hands_over_the_window_does_not(
    window: DeskWindow,
    alerts: AlertController,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    hub_alerts: Any,
    sent: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    deliveries: list[Delivery] = []
    monkeypatch.setattr(AlertSender, "send", lambda _, delivery: deliveries.append(delivery))
    now_wall_s = window.desk.now_wall_s()
    window.tell_runs(made_up_run("run1", started_wall_s=now_wall_s - 3720.0))
    window.desk.condition(msgspec.structs.replace(told_hub(), alerts=hub_alerts))
    window.tell_events(CROSSED, run="run1")
    alerts.timer.timeout.emit()

    assert len(told.alerts) == 1
    assert bool(deliveries) == sent


def test_rules_are_chosen_kept_and_in_force(
    window: DeskWindow, alerts: AlertController, tmp_path: Path
) -> None:
    dialog = opened(window)
    box = next(b for b in dialog.findChildren(QCheckBox) if b.text().startswith("RAM: limit"))
    hold = next(
        b
        for b in dialog.findChildren(QSpinBox)
        if b.accessibleName().startswith("Graph size: limit")
    )
    box.click()
    hold.setValue(45)
    dialog.findChildren(QLineEdit)
    save = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Save)  # type: ignore[union-attr]
    save.click()
    window.settle()

    kept = load_alert_settings(tmp_path)
    assert kept == window.desk.alerts.settings
    assert not kept.rule("limit", "ram").is_on
    assert kept.rule("limit", "graph").hold_s == 45.0
    assert set(kept.rules) == {"limit:ram", "limit:graph"}
    assert (tmp_path / "alerts.json").stat().st_mode & 0o077 == 0


def test_what_is_written_wrongly_is_refused_with_the_reason(
    window: DeskWindow, alerts: AlertController, tmp_path: Path
) -> None:
    dialog = opened(window)
    webhook = next(e for e in dialog.findChildren(QLineEdit) if e.accessibleName() == "Webhook")
    test = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Send a test")
    save = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Save)  # type: ignore[union-attr]
    test.click()
    assert "first" in dialog.why.text()
    webhook.setText("file:///etc/passwd")
    test.click()
    save.click()

    assert "https://" in dialog.why.text()
    assert dialog.isVisible()
    assert not (tmp_path / "alerts.json").exists()
    dialog.reject()


def test_a_test_goes_to_the_command_and_what_fails_is_said(
    window: DeskWindow, alerts: AlertController, qtbot: Any
) -> None:
    dialog = opened(window)
    command = next(e for e in dialog.findChildren(QLineEdit) if e.accessibleName() == "Command")
    command.setText("false")
    test = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Send a test")
    test.click()

    qtbot.waitUntil(lambda: "exited with status 1" in dialog.why.text(), timeout=DEADLINE_MS)
    alerts.failed.emit("a webhook refused", None)
    window.settle()
    assert "exited with status 1" in dialog.why.text()
    assert dialog.why.text().endswith("\na webhook refused")
    test.click()
    assert "refused" not in dialog.why.text()
    dialog.reject()
    window.settle()
    alerts.failed.emit("a webhook was not reached", None)
    window.settle()
    assert window.window.status.note.isVisible()


def test_an_alert_that_failed_is_sent_again_to_that_target_once_its_time_has_come(
    window: DeskWindow, alerts: AlertController, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Delivery] = []
    monkeypatch.setattr(AlertSender, "send", lambda _, delivery: sent.append(delivery))
    window.desk.alerts.settings = AlertSettings(command="mail", webhook="https://x.example/")
    now_wall_s = window.desk.now_wall_s()

    for due_s in (now_wall_s - 1.0, now_wall_s + 3600.0):
        retry = Retry({"title": "gpu-01"}, "webhook", due_s, tries_left=1)
        alerts.failed.emit("a webhook was not reached", retry)
    window.settle()
    for _ in range(2):
        alerts.timer.timeout.emit()

    assert [(each.command, each.webhook, each.tries_left) for each in sent] == [
        ("", "https://x.example/", 1)
    ]


def test_what_a_limit_would_have_done_is_told(window: DeskWindow, alerts: AlertController) -> None:
    window.tell_runs(made_up_run("run1", limits=[limit("ram", 35 * GIB)]))

    dialog = opened(window)

    head, line = dialog.dry_run.text().splitlines()
    assert head == "What the limits of resnet50-imagenet would have done:"
    assert line.startswith("RAM: In the ")
    dialog.reject()


def test_settings_that_are_damaged_or_cannot_be_written_are_told(tmp_path: Path) -> None:
    (tmp_path / "alerts.json").write_text('{"rules": {"host": {"hold_s": -1}}}')
    assert load_alert_settings(tmp_path) == AlertSettings()

    file = tmp_path / "file"
    file.touch()
    assert "cannot be written" in save_alert_settings(file / "below", AlertSettings())
    kept = AlertSettings(rules={"host": AlertRule(is_on=False)}, webhook="https://x")
    assert save_alert_settings(tmp_path, kept) == ""
    assert load_alert_settings(tmp_path) == kept


def test_without_a_tray_it_is_said_how_alerts_are_shown(window: DeskWindow) -> None:
    notices = DesktopNotifications(window.window)
    notices.start()
    notices.notify(Alert("ended", "run1", "", "net", "gpu-01", 1.0, why="Process finished"))
    notices.clear_marks()

    assert "no system tray" in notices.delivery_text()
    icon = icon_with_dot(window.window.windowIcon(), "error")
    assert not icon.isNull() or window.window.windowIcon().isNull()
    notices.stop()


def test_the_field_of_the_webhook_names_every_form(
    window: DeskWindow, alerts: AlertController
) -> None:
    hints = [field.placeholderText() for field in opened(window).findChildren(QLineEdit)]

    assert any(
        all(form in hint for form in ("Slack", "Mattermost", "ntfy", "JSON")) for hint in hints
    )
