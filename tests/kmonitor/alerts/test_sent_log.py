"""The list of alerts that were sent: newest first, bounded, and whole after damage."""

from pathlib import Path

import pytest

from kmonitor.alerts.delivery import AlertSender, Delivery
from kmonitor.alerts.rules import AlertSettings, save_alert_settings
from kmonitor.alerts.sent_log import SentAlert, SentAlertLog
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import SETTING_BYTES
from tests.support.command_line import kmonitor

FACTS: dict[str, str | float] = {
    "kind": "limit",
    "subject": "3f2a" * 8,
    "metric": "ram",
    "title": "resnet50",
    "text": "RAM exceeded its limit of 72 GiB: 73.4 GiB",
}


def _file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_each_try_at_each_target_is_listed_newest_first(tmp_path: Path):
    log = SentAlertLog(tmp_path)
    sender = AlertSender(lambda _why, _retry: None, log)
    list(sender.hand_over(Delivery(FACTS, command="true")))
    list(sender.hand_over(Delivery(FACTS, command="false", webhook="http://127.0.0.1:1/")))

    webhook, failed, sent = log.newest(9)

    assert [each.target for each in (webhook, failed, sent)] == ["webhook", "command", "command"]
    assert (sent.facts, sent.why, sent.again_wall_s) == (FACTS, "", None)
    assert "status 1" in failed.why
    assert (failed.again_wall_s or 0.0) > failed.sent_wall_s
    assert log.newest(1) == [webhook]


def test_the_list_stays_below_its_bound_and_keeps_the_newest(tmp_path: Path):
    log = SentAlertLog(tmp_path)
    for n in range(40):
        log.add(SentAlert(float(n), "command", {"text": "x" * 30_000}))
        assert _file(tmp_path).stat().st_size <= SETTING_BYTES // 2 + 31_000

    times = [each.sent_wall_s for each in log.newest(99)]
    assert times == [float(n) for n in range(39, 39 - len(times), -1)]
    assert len(times) > 5
    assert _file(tmp_path).stat().st_mode & 0o777 == 0o600


def test_a_damaged_line_hides_no_other(tmp_path: Path):
    log = SentAlertLog(tmp_path)
    log.add(SentAlert(1.0, "command", FACTS))
    with _file(tmp_path).open("ab") as file:
        file.write(b'{"sent_wall_s": 2.0, "tar\n\xff\n')
    log.add(SentAlert(3.0, "command", FACTS))

    assert [each.sent_wall_s for each in log.newest(9)] == [3.0, 1.0]


def test_a_list_that_cannot_be_written_stops_no_alert(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").touch()
    sender = AlertSender(lambda _why, _retry: None, SentAlertLog(tmp_path / "file"))

    assert list(sender.hand_over(Delivery(FACTS, command="true"))) == []
    assert "could not be recorded" in caplog.text


def test_sent_alerts_are_listed_in_the_terminal(folders: Folders):
    assert "No alerts have been sent yet" in kmonitor("alerts", "sent").out
    save_alert_settings(folders.settings, AlertSettings(command="false"))
    assert kmonitor("alerts", "test").status == 1
    SentAlertLog(folders.database).add(SentAlert(1.7e9, "webhook", FACTS))
    SentAlertLog(folders.database).add(SentAlert(1.7e9, "webhook", FACTS, "not reached.", 1.7e9))

    listed = " ".join(kmonitor("alerts", "sent").out.split())
    newest, sent, test = kmonitor("alerts", "sent", "--json").json

    assert "limit:ram" in listed
    assert "failed: not reached. Next attempt at " in listed
    assert (newest["why"], newest["target"]) == ("not reached.", "webhook")
    assert (sent["why"], sent["again_wall_s"], sent["text"]) == ("", None, FACTS["text"])
    assert "status 1" in test["why"]
    assert len(kmonitor("alerts", "sent", "--limit", "1", "--json").json) == 1
