"""The user's own command or web address gets each alert; failures are reported."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from typing_extensions import override

from kmonitor.alerts.delivery import (
    AlertSender,
    Delivery,
    invalid_command_reason,
    invalid_webhook_reason,
    webhook_message,
)
from kmonitor.alerts.rules import WebhookForm
from kmonitor.alerts.sent_log import SentAlertLog
from tests.support.waiting import DEADLINE_S, wait_until

FACTS: dict[str, str | float] = {"kind": "limit", "run": "a; touch /tmp/x", "wall_s": 1.5}


class Web:
    """The user's own web server.

    Attributes:
        posted: Bodies that came.
        status: Status of its answers.
    """

    def __init__(self) -> None:
        self.posted: list[object] = []
        self.asked: list[str] = []
        self.status = 204
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                web.posted.append(json.loads(body))
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                web.asked.append(self.path)
                self.send_response(web.status)
                if web.status == 302:
                    self.send_header("Location", f"{web.address}/elsewhere")
                self.end_headers()

            @override
            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.close()


@pytest.fixture
def failed() -> "queue.Queue[str]":
    return queue.Queue()


@pytest.fixture
def outlet(failed: "queue.Queue[str]", tmp_path: Path) -> Iterator[AlertSender]:
    outlet = AlertSender(lambda why, _retry: failed.put(why), SentAlertLog(tmp_path))
    yield outlet
    outlet.stop()


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "a script.py"
    path.write_text(text)
    return f"{sys.executable} '{path}'"


@pytest.mark.promise(11, 27)
def test_a_command_gets_the_alert_at_its_input_and_nothing_goes_through_a_shell(
    outlet: AlertSender, tmp_path: Path
):
    into = tmp_path / "got.json"
    text = f"import sys; open({str(into)!r}, 'w').write(sys.stdin.read())"
    outlet.send(Delivery(FACTS, command=script(tmp_path, text)))

    wait_until(lambda: into.exists() and into.read_text())

    assert json.loads(into.read_text()) == FACTS


def test_a_webhook_gets_the_alert_as_json(outlet: AlertSender, web: Web):
    outlet.send(Delivery(FACTS, webhook=web.address))

    wait_until(lambda: web.posted)

    assert web.posted == [FACTS]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import sys; sys.stderr.write('no mail here'); sys.exit(3)", "status 3. no mail here"),
        (None, "cannot be run"),
    ],
)
def test_a_command_that_fails_is_told_and_the_next_alert_is_handed_over(
    outlet: AlertSender,
    failed: "queue.Queue[str]",
    tmp_path: Path,
    web: Web,
    text: str | None,
    told: str,
):
    command = script(tmp_path, text) if text else str(tmp_path / "missing")
    outlet.send(Delivery(FACTS, command=command))
    outlet.send(Delivery(FACTS, webhook=web.address))

    assert told in failed.get(timeout=DEADLINE_S)
    wait_until(lambda: web.posted)


@pytest.mark.promise(28)
@pytest.mark.parametrize("status", [302, 500])
def test_a_webhook_that_refuses_or_points_elsewhere_is_told_and_not_followed(
    outlet: AlertSender, failed: "queue.Queue[str]", web: Web, status: int
):
    web.status = status
    outlet.send(Delivery(FACTS, webhook=web.address))

    assert f"rejected the alert: {status}" in failed.get(timeout=DEADLINE_S)
    assert web.asked == ["/hook"]


def test_a_webhook_that_is_not_there_is_told(
    outlet: AlertSender, failed: "queue.Queue[str]", web: Web
):
    web.close()
    outlet.send(Delivery(FACTS, webhook=web.address))

    assert "could not be reached" in failed.get(timeout=DEADLINE_S)


def test_stopping_ends_a_command_that_goes_on_for_ever(
    outlet: AlertSender, failed: "queue.Queue[str]", tmp_path: Path
):
    began = tmp_path / "began"
    text = f"import pathlib, time; pathlib.Path({str(began)!r}).touch(); time.sleep(600)"
    outlet.send(Delivery(FACTS, command=script(tmp_path, text)))
    wait_until(began.exists)

    outlet.stop()

    assert failed.empty()
    assert not [t for t in threading.enumerate() if t.name == "kmonitor-alerts"]


_LEAVES_A_CHILD = """
import subprocess, sys, pathlib
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path({pid!r}).write_text(str(child.pid))
"""


@pytest.mark.promise(11)
def test_a_command_that_takes_too_long_ends_with_all_that_it_started(
    outlet: AlertSender,
    failed: "queue.Queue[str]",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    pid = tmp_path / "pid"
    text = _LEAVES_A_CHILD.format(pid=str(pid)) + "child.wait()"

    class Late(subprocess.Popen[bytes]):
        """Its time is up as soon as its child exists."""

        @override
        def communicate(
            self, input: bytes | None = None, timeout: float | None = None
        ) -> tuple[bytes, bytes]:
            if timeout is None:
                return super().communicate(input)
            wait_until(lambda: pid.exists() and pid.read_text(), what="its child")
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(subprocess, "Popen", Late)
    outlet.send(Delivery(FACTS, command=script(tmp_path, text)))

    assert "took longer than" in failed.get(timeout=DEADLINE_S)
    wait_until(lambda: not psutil.pid_exists(int(pid.read_text())))


def test_a_command_that_leaves_something_running_has_ended_and_the_next_alert_goes_out(
    outlet: AlertSender, failed: "queue.Queue[str]", tmp_path: Path, web: Web
):
    pid = tmp_path / "pid"
    command = script(tmp_path, _LEAVES_A_CHILD.format(pid=str(pid)))
    outlet.send(Delivery(FACTS, command=command, webhook=web.address))
    wait_until(lambda: web.posted)
    left = psutil.Process(int(pid.read_text()))
    left.kill()

    assert failed.empty()


@pytest.mark.promise(11)
def test_without_command_and_webhook_no_thread_is_made(outlet: AlertSender):
    outlet.send(Delivery(FACTS))

    assert not [t for t in threading.enumerate() if t.name == "kmonitor-alerts"]


def test_no_thread_stays_once_all_is_handed_over_and_later_alerts_go_out(
    outlet: AlertSender, web: Web
):
    for n in (1, 2, 3):
        outlet.send(Delivery(FACTS, webhook=web.address))
        wait_until(lambda: not [t for t in threading.enumerate() if t.name == "kmonitor-alerts"])

        assert len(web.posted) == n


@pytest.mark.parametrize(
    ("address", "is_good"),
    [
        ("", True),
        ("https://example.org/hook", True),
        ("http://127.0.0.1:8080", True),
        ("file:///etc/passwd", False),
        ("example.org", False),
        ("https://", False),
        ("http://[", False),
    ],
)
def test_only_web_addresses_are_webhooks(*, address: str, is_good: bool):
    assert (invalid_webhook_reason(address) == "") is is_good


def test_a_command_that_cannot_be_read_is_refused_before():
    assert invalid_command_reason("mail 'x") != ""
    assert invalid_command_reason("   ") != ""
    assert invalid_command_reason("echo -s alert me") == invalid_command_reason("") == ""


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("echo x > file", ">"),
        ("echo x 2>&1", "2>&1"),
        ("cat | echo", "|"),
        ("cat && echo", "&&"),
        ("echo $HOME", "$HOME"),
        ("echo $(date)", "$(date)"),
        ("echo `date`", "`date`"),
    ],
)
def test_what_only_a_shell_understands_is_refused_with_the_word(command: str, word: str):
    assert f'"{word}"' in invalid_command_reason(command)


@pytest.mark.parametrize(
    "command", ["sh -c 'cat > $HOME/x; echo'", "echo '>' \"|\"", "echo https://x.example/?a=1&b=2"]
)
def test_what_a_shell_would_read_is_fine_in_quotes_or_within_a_word(command: str):
    assert invalid_command_reason(command) == ""


def test_a_program_that_is_not_there_is_refused():
    assert invalid_command_reason("no-such-program x").endswith(": no-such-program")
    assert invalid_command_reason("~/no-such-program").endswith("/no-such-program")


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "alert.sh"
    script.write_text('#!/bin/sh\ncat > "$(dirname "$0")/got"\n')
    script.chmod(0o700)
    assert invalid_command_reason("~/alert.sh") == ""

    sender = AlertSender(print, SentAlertLog(tmp_path))
    assert list(sender.hand_over(Delivery({"kind": "died"}, "~/alert.sh"))) == []
    assert (tmp_path / "got").read_text() == '{"kind": "died"}\n'


ALERT: dict[str, str | float] = {
    "kind": "died",
    "title": "net <!channel> *x*",
    "host": "gpu-01",
    "text": "Process ended by SIGKILL",
    "gravity": "error",
}


def posted(form: WebhookForm, webhook: str = "https://h.example/hooks/topic") -> tuple[str, Any]:
    return webhook_message(Delivery(ALERT, webhook=webhook, form=form))


@pytest.mark.promise(27)
def test_slack_gets_a_text_in_which_a_name_mentions_nobody():
    address, body = posted("auto", "https://hooks.slack.com/services/T0/B0/x")

    assert address == "https://hooks.slack.com/services/T0/B0/x"
    assert list(body) == ["text"]
    assert "<!channel>" not in body["text"]
    assert "Process ended by SIGKILL" in body["text"]


@pytest.mark.promise(27)
def test_mattermost_gets_a_text_without_marks():
    _, body = posted("mattermost")

    assert body["text"].startswith(r"net \<!channel\> \*x\* on gpu-01: ")


def test_ntfy_gets_topic_title_and_priority_at_its_root():
    for address in ("https://ntfy.sh/topic", "http://ntfy.lan:8080/topic"):
        root, body = posted("auto", address)

        assert root == address.removesuffix("topic")
        assert (body["topic"], body["priority"]) == ("topic", 5)
        assert body["title"] == "net <!channel> *x* on gpu-01"
        assert body["message"] == "Process ended by SIGKILL"


def test_any_other_address_gets_the_alert_itself():
    assert posted("auto") == ("https://h.example/hooks/topic", ALERT)
