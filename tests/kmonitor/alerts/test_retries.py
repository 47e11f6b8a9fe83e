"""An alert that a target did not take is sent to it again; one that may have arrived is not."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.alerts.delivery import AlertSender, Delivery
from kmonitor.alerts.evaluator import Alert, HeldAlerts, encode_held
from kmonitor.alerts.retries import WAITS_S, Outcome, Retry, retry_after
from kmonitor.alerts.rules import AlertSettings, save_alert_settings
from kmonitor.alerts.sent_log import SentAlertLog
from kmonitor.hub.alerts import HubAlerts
from kmonitor_agent.wire.local.folders import Folders
from tests.support.clock import MovedClock
from tests.support.waiting import wait_until

FACTS: dict[str, str | float] = {"kind": "died", "title": "resnet"}
HOUR_S = 3600.0


@pytest.fixture
def log(tmp_path: Path) -> SentAlertLog:
    return SentAlertLog(tmp_path)


def _retries(log: SentAlertLog, delivery: Delivery) -> list[Retry | None]:
    sender = AlertSender(lambda _why, _retry: None, log)
    return [retry for _why, retry in sender.hand_over(delivery)]


def _command(text: str) -> str:
    return f'{sys.executable} -c "{text}"'


@pytest.mark.parametrize("command", [_command("raise SystemExit(75)"), "/nonexistent/notify"])
def test_a_command_that_says_it_failed_gets_the_alert_again(log: SentAlertLog, command: str):
    (retry,) = _retries(log, Delivery(FACTS, command=command))

    assert retry is not None
    assert (retry.facts, retry.target) == (FACTS, "command")


def test_a_command_that_was_killed_may_have_sent_and_is_not_run_again(log: SentAlertLog):
    command = _command("import os; os.kill(os.getpid(), 9)")

    assert _retries(log, Delivery(FACTS, command=command)) == [None]


class Answers:
    """A web server that answers every request with these bytes and closes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            received = b""
            while not received.endswith(b"}"):
                received += connection.recv(4096)
            connection.sendall(self._answer)

    def close(self) -> None:
        self._thread.join()
        self._socket.close()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Answers]:
    server = Answers(request.param)
    yield server
    server.close()


def _status(code: int) -> bytes:
    return f"HTTP/1.1 {code} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize("server", [_status(500), _status(503), _status(429)], indirect=True)
def test_a_webhook_that_is_busy_gets_the_alert_again(log: SentAlertLog, server: Answers):
    (retry,) = _retries(log, Delivery(FACTS, webhook=server.address))

    assert retry is not None
    assert retry.target == "webhook"


@pytest.mark.parametrize(
    "server",
    [_status(302), _status(404), _status(504), b"", b"no HTTP\r\n\r\n"],
    ids=["redirect", "refused for good", "gateway timeout", "no answer", "no HTTP"],
    indirect=True,
)
def test_a_webhook_that_refuses_for_good_or_may_have_taken_it_does_not(
    log: SentAlertLog, server: Answers
):
    assert _retries(log, Delivery(FACTS, webhook=server.address)) == [None]


def test_only_the_target_that_failed_gets_the_alert_again(log: SentAlertLog):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    settings = AlertSettings(command=_command("pass"), webhook=address)

    (retry,) = _retries(log, Delivery.of(FACTS, settings))

    assert retry is not None
    assert retry.target == "webhook"
    assert Delivery.again(retry, settings).command == ""
    assert _retries(log, Delivery.again(retry, AlertSettings(command="false"))) == []


def test_tries_end_and_the_waits_between_them_grow():
    failed = Outcome("webhook", "why", may_repeat=True)
    waits: list[float] = []
    tries_left = len(WAITS_S)
    while (retry := retry_after(failed, FACTS, tries_left, 1000.0)) is not None:
        waits.append(retry.due_s - 1000.0)
        tries_left = retry.tries_left

    assert waits == sorted(WAITS_S)


_FAILS_FIRST = """
import pathlib, sys
inbox = pathlib.Path({inbox!r})
before = inbox.read_text() if inbox.exists() else ""
inbox.write_text(before + sys.stdin.read())
sys.exit(0 if before else "the network is down")
"""


@pytest.fixture
def inbox(tmp_path: Path, folders: Folders) -> Path:
    """A file to which the command for alerts adds a line at each try; the first one fails."""
    inbox = tmp_path / "alerts.jsonl"
    script = tmp_path / "notify.py"
    script.write_text(_FAILS_FIRST.format(inbox=str(inbox)))
    save_alert_settings(
        folders.settings, AlertSettings(command=f"{sys.executable} '{script}'", webhook="")
    )
    return inbox


def test_a_hub_sends_what_failed_again_once_its_time_has_come_and_the_next_hub_too(
    folders: Folders, inbox: Path, tmp_path: Path
):
    held = tmp_path / "alerts.held"
    alert = Alert("died", "run1", "", "resnet", "gpu-01", 1.8e9, why="SIGKILL")
    held.write_bytes(encode_held(HeldAlerts(due=[alert])))
    held.chmod(0o600)
    clock = MovedClock(wall_s=time.time())

    hub = HubAlerts(folders.settings, held, "gpu-01", clock)
    wait_until(lambda: hub.step(()) or hub.trouble, what="the first try failed")
    hub.step(())

    assert "the network is down; they will be retried within a few minutes" in hub.trouble
    assert hub.is_needed
    assert len(inbox.read_text().splitlines()) == 1

    hub.close()
    clock.move(HOUR_S)
    hub = HubAlerts(folders.settings, held, "gpu-01", clock)
    hub.step(())
    wait_until(lambda: hub.step(()) or not hub.is_needed, what="the second try")
    clock.move(HOUR_S)
    hub.step(())

    assert not hub.is_needed
    assert hub.trouble == ""
    assert len(set(inbox.read_text().splitlines())) == 1
    assert len(inbox.read_text().splitlines()) == 2
    second, first = SentAlertLog(folders.database).newest(9)
    assert (first.why != "", first.again_wall_s is not None) == (True, True)
    assert (second.why, second.again_wall_s) == ("", None)
    hub.close()


def test_a_hub_that_cannot_start_a_process_tries_as_often_and_no_more(
    folders: Folders, inbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    held = tmp_path / "alerts.held"
    alert = Alert("died", "run1", "", "resnet", "gpu-01", 1.8e9, why="SIGKILL")
    held.write_bytes(encode_held(HeldAlerts(due=[alert])))
    held.chmod(0o600)
    clock = MovedClock()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")

    hub = HubAlerts(folders.settings, held, "gpu-01", clock)
    needed: list[bool] = []
    for _ in range(len(WAITS_S) + 1):
        hub.step(())
        hub.step(())  # too early
        needed.append(hub.is_needed)
        clock.move(HOUR_S)

    assert needed == [*[True] * len(WAITS_S), False]
    assert "cannot be sent" in hub.trouble
    hub.close()
