"""Delivery of alerts to the user's command or web address, on a thread of its own."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from typing_extensions import override

from kmonitor.alerts.retries import (
    RETRIED_ANSWERS,
    WAITS_S,
    Outcome,
    Retry,
    Target,
    retry_after,
)
from kmonitor.alerts.rules import AlertSettings, WebhookForm
from kmonitor.alerts.sent_log import SentAlert, SentAlertLog
from kmonitor.base.output import last_line
from kmonitor_agent.wire.release import VERSION

_COMMAND_S: Final = 30.0
_POST_S: Final = 10.0
_JOIN_S: Final = 2.0
_MOST_WAITING: Final = 100
_LONGEST_OUTPUT: Final = 300


@dataclass(frozen=True, slots=True)
class Delivery:
    """One alert to deliver.

    Attributes:
        facts: The alert, as JSON values.
        command: Command that receives the facts as JSON on its standard input; empty: none.
        webhook: Address to which the facts are posted; empty: none.
        form: Form of the posted message.
        tries_left: Most further tries after a failure.
    """

    facts: dict[str, str | float]
    command: str = ""
    webhook: str = ""
    form: WebhookForm = "auto"
    tries_left: int = len(WAITS_S)

    @classmethod
    def of(cls, facts: dict[str, str | float], settings: AlertSettings) -> "Delivery":
        return cls(facts, settings.command, settings.webhook, settings.form)

    @classmethod
    def again(cls, retry: Retry, settings: AlertSettings) -> "Delivery":
        """Another delivery of an alert to the target that did not take it."""
        return cls(
            retry.facts,
            settings.command if retry.target == "command" else "",
            settings.webhook if retry.target == "webhook" else "",
            settings.form,
            retry.tries_left,
        )


def invalid_command_reason(command: str) -> str:
    """Reason why the text of a command is invalid; empty: it is valid."""
    try:
        arguments = _arguments(command)
        # Words keep their quotes here: in quotes such a sign is meant as it is.
        as_typed = shlex.split(command, posix=False)
    except ValueError as exc:
        return f"The command cannot be parsed: {exc}."
    if not arguments:
        return "The command is empty." if command else ""
    for word in as_typed:
        if _FOR_A_SHELL.match(word):
            return (
                f'"{word}" needs a shell, but the command runs without one.'
                " Use: sh -c '...', or put the command in a script."
            )
    return "" if shutil.which(arguments[0]) else f"The program was not found: {arguments[0]}"


def _arguments(command: str) -> list[str]:
    return [os.path.expanduser(word) for word in shlex.split(command)]  # noqa: PTH111 - words


_FOR_A_SHELL: Final = re.compile(r"[|&;]+$|\d?[<>]|&>|\$[({A-Za-z_]|`", re.ASCII)
"""Beginning of a word that only a shell understands."""


def invalid_webhook_reason(address: str) -> str:
    """Reason why the text of a web address is invalid; empty: it is valid."""
    if not address:
        return ""
    try:
        split = urlsplit(address)
        is_whole = split.scheme in {"http", "https"} and bool(split.hostname)
    except ValueError:
        is_whole = False
    return (
        ""
        if is_whole
        else "The webhook must be a URL of the form https://HOST/PATH or http://HOST/PATH."
    )


_PRIORITIES: Final = {"info": 3, "warning": 4, "error": 5}
_TAGS: Final = {"info": "information_source", "warning": "warning", "error": "rotating_light"}


def webhook_message(delivery: Delivery) -> tuple[str, dict[str, object]]:
    """Address and body (JSON values) in the form of the service behind the webhook.

    Source: docs.slack.dev, "Sending messages using incoming webhooks"; docs.mattermost.com,
    "Incoming webhooks"; docs.ntfy.sh, "Publish as JSON", which is posted to the server's root.
    """
    facts = delivery.facts
    whose, host, text = (str(facts.get(name, "")) for name in ("title", "host", "text"))
    title = f"{whose} on {host}" if host not in ("", whose) else whose
    match _form_of(delivery):
        case "slack":
            # A run's name must not act as a mention, link or emphasis.
            return delivery.webhook, {"text": f"*{_slack(title)}*: {_slack(text)}"}
        case "mattermost":
            plain = f"{_without_marks(title)}: {_without_marks(text)}"
            return delivery.webhook, {"username": "kmonitor", "text": plain}
        case "ntfy":
            split = urlsplit(delivery.webhook)
            root = f"{split.scheme}://{split.netloc}/"
            gravity = str(facts.get("gravity", ""))
            topic = split.path.strip("/").rpartition("/")[2]
            message = {"topic": topic, "title": title, "message": text}
            tags = [_TAGS.get(gravity, "warning")]
            return root, {**message, "priority": _PRIORITIES.get(gravity, 3), "tags": tags}
        case _:
            return delivery.webhook, dict(facts)


def _form_of(delivery: Delivery) -> WebhookForm:
    if delivery.form != "auto":
        return delivery.form
    host = urlsplit(delivery.webhook).hostname or ""
    if host == "hooks.slack.com":
        return "slack"
    return "ntfy" if host == "ntfy.sh" or host.startswith("ntfy.") else "json"


def _slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _without_marks(text: str) -> str:
    """Markdown that shows the text literally, and mentions no user."""
    marked = "".join(f"\\{letter}" if letter in "\\`*_[]<>#~|" else letter for letter in text)
    return marked.replace("@", "@\N{ZERO WIDTH SPACE}")


class AlertSender:
    """Owns the thread `kmonitor-alerts`, which exists only while alerts are delivered.

    `send` and `stop` are for the thread that created the sender.
    """

    def __init__(
        self, failed: Callable[[str, Retry | None], object], sent_log: SentAlertLog
    ) -> None:
        """Store the arguments; the thread starts with `send`.

        Args:
            failed: Called from the sender's thread with an error text, and the next try if any.
            sent_log: Log of every try.
        """
        self._failed = failed
        self._sent_log = sent_log
        self._lock = threading.Lock()
        self._waiting: deque[Delivery] = deque()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ends = False

    def send(self, delivery: Delivery) -> None:
        """Queue a delivery; neither waits nor raises."""
        if not (delivery.command or delivery.webhook) or self._ends:
            return
        with self._lock:
            has_room = len(self._waiting) < _MOST_WAITING
            if has_room:
                self._waiting.append(delivery)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._main, name="kmonitor-alerts", daemon=True
                )
                self._thread.start()
        if not has_room:
            text = "Alerts are arriving faster than they can be sent; this one was dropped."
            self._failed(text, None)

    def stop(self) -> None:
        """End the thread, and a command that is still running."""
        with self._lock:
            self._ends = True
            self._waiting.clear()
            thread = self._thread
            process = self._process
        if process is not None:
            _kill(process)
        if thread is not None:
            thread.join(_JOIN_S)

    def _main(self) -> None:
        while (delivery := self._next()) is not None:
            for why, retry in self.hand_over(delivery):
                if not self._ends:
                    self._failed(why, retry)

    def hand_over(self, delivery: Delivery) -> Iterator[tuple[str, Retry | None]]:
        """Deliver an alert on the calling thread.

        Yield the reason and the next try of each failure.
        """
        for outcome in self._outcomes(delivery):
            now_wall_s = time.time()
            why = outcome.why[:_LONGEST_OUTPUT]
            retry = retry_after(outcome, delivery.facts, delivery.tries_left, now_wall_s)
            again_wall_s = None if retry is None else retry.due_s
            self._sent_log.add(
                SentAlert(now_wall_s, outcome.target, delivery.facts, why, again_wall_s)
            )
            if why:
                yield why, retry

    def _outcomes(self, delivery: Delivery) -> Iterator[Outcome]:
        ways: tuple[tuple[Target, str, Callable[[Delivery], Outcome]], ...] = (
            ("command", delivery.command, self._run),
            ("webhook", delivery.webhook, self._post),
        )
        for target, address, act in ways:
            if not address or self._ends:
                continue
            try:
                yield act(delivery)
            except Exception as exc:  # noqa: BLE001 - thread main: reported, goes on
                yield Outcome(target, f"An alert was not sent: {type(exc).__name__}: {exc}")

    def _next(self) -> Delivery | None:
        """Oldest waiting delivery; None: there is none, and this thread ends."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None

    def _run(self, delivery: Delivery) -> Outcome:
        arguments = _arguments(delivery.command)
        # Into a file: whoever the command leaves behind may hold a pipe open for ever.
        with tempfile.TemporaryFile() as stderr_file:
            try:
                # No shell: what a training calls itself must never be read as a command.
                process = subprocess.Popen(  # noqa: S603 - the user's own command
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr_file,
                    start_new_session=True,
                )
            except OSError as exc:
                why = f"The alert command cannot be run: {arguments[0]}: {exc.strerror}."
                return Outcome("command", why, may_repeat=True)
            self._begin(process)
            try:
                process.communicate(f"{json.dumps(delivery.facts)}\n".encode(), timeout=_COMMAND_S)
            except subprocess.TimeoutExpired:
                _kill(process)
                process.communicate()
                why = f"The alert command was killed: it took longer than {_COMMAND_S:g} s."
                return Outcome("command", why)
            finally:
                self._process = None
            status = process.returncode
            if not status:
                return Outcome("command")
            last = last_line(stderr_file, _LONGEST_OUTPUT)
        why = f"The alert command exited with status {status}. {last}".strip()
        return Outcome("command", why, may_repeat=status > 0)

    def _begin(self, process: subprocess.Popen[bytes]) -> None:
        """Keep the running process for `stop`; kill it if `stop` was called meanwhile."""
        with self._lock:
            self._process = process
            is_late = self._ends
        if is_late:
            _kill(process)

    def _post(self, delivery: Delivery) -> Outcome:
        address, body = webhook_message(delivery)
        request = urllib.request.Request(  # noqa: S310 - http and https only, see why_no_webhook
            address,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "User-Agent": f"kmonitor/{VERSION}"},
            method="POST",
        )
        host = urlsplit(address).hostname
        try:
            with _OPENER.open(request, timeout=_POST_S):
                return Outcome("webhook")
        except urllib.error.HTTPError as exc:
            why = f"The alert webhook at {host} rejected the alert: {exc.code} {exc.reason}."
            return Outcome("webhook", why, may_repeat=exc.code in RETRIED_ANSWERS)
        except urllib.error.URLError as exc:  # raised until the whole request is sent
            why = f"The alert webhook at {host} could not be reached: {exc.reason}."
            return Outcome("webhook", why, may_repeat=True)
        except OSError as exc:
            return Outcome("webhook", f"The alert webhook at {host} did not respond: {exc}.")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, with its child processes where the system has process groups."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: requests go only to the address that the user named."""

    @override
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirect)
