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
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from typing_extensions import override

from kmonitor.alerts.rules import AlertSettings, WebhookForm
from kmonitor.base.output import last_line
from kmonitor_agent.wire.release import VERSION

_COMMAND_S: Final = 30.0
_POST_S: Final = 10.0
_JOIN_S: Final = 2.0
_MOST_WAITING: Final = 100
_LONGEST_OUTPUT: Final = 300


@dataclass(frozen=True, slots=True)
class Delivery:
    """One alert on its way.

    Attributes:
        facts: The alert, as JSON values.
        command: To run, with the facts as JSON at its standard input; empty: none.
        webhook: To post them to; empty: nowhere.
        form: Form of what is posted.
    """

    facts: dict[str, str | float]
    command: str = ""
    webhook: str = ""
    form: WebhookForm = "auto"

    @classmethod
    def of(cls, facts: dict[str, str | float], settings: AlertSettings) -> "Delivery":
        """An alert on its way to where the user wants it."""
        return cls(facts, settings.command, settings.webhook, settings.form)


def invalid_command_reason(command: str) -> str:
    """Error in a command as it is written; empty: none."""
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
                f'The command runs without a shell, which "{word}" needs.'
                " Use: sh -c '...', or put it into a script."
            )
    return "" if shutil.which(arguments[0]) else f"The program was not found: {arguments[0]}"


def _arguments(command: str) -> list[str]:
    return [os.path.expanduser(word) for word in shlex.split(command)]  # noqa: PTH111 - words


_FOR_A_SHELL: Final = re.compile(r"[|&;]+$|\d?[<>]|&>|\$[({A-Za-z_]|`", re.ASCII)
"""Begins a word that only a shell understands."""


def invalid_webhook_reason(address: str) -> str:
    """Error in a web address as it is written; empty: none."""
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
    """Address, and body as JSON, as the service behind the webhook understands it.

    Source: docs.slack.dev, "Sending messages using incoming webhooks"; docs.mattermost.com,
    "Incoming webhooks"; docs.ntfy.sh, "Publish as JSON", which is posted to the server's root.
    """
    facts = delivery.facts
    whose, host, text = (str(facts.get(name, "")) for name in ("title", "host", "text"))
    title = f"{whose} on {host}" if host not in ("", whose) else whose
    match _form_of(delivery):
        case "slack":
            # What a training calls itself is no mention, link or emphasis.
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
    """Markdown that shows the text as it is, and mentions nobody."""
    marked = "".join(f"\\{letter}" if letter in "\\`*_[]<>#~|" else letter for letter in text)
    return marked.replace("@", "@\N{ZERO WIDTH SPACE}")


class AlertSender:
    """Owns the thread `kmonitor-alerts`, which is there only while something is handed over.

    `send` and `stop` are for the thread that made it.
    """

    def __init__(self, failed: Callable[[str], object]) -> None:
        """Args: `failed`: called with an error text, from this part's thread."""
        self._failed = failed
        self._lock = threading.Lock()
        self._waiting: deque[Delivery] = deque()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ends = False

    def send(self, delivery: Delivery) -> None:
        """Hand it over; neither waits nor raises."""
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
            self._failed("Alerts are arriving faster than they can be sent; this one was dropped.")

    def stop(self) -> None:
        """End the thread, and a command that still runs."""
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
            for why in self.hand_over(delivery):
                if not self._ends:
                    self._failed(why[:_LONGEST_OUTPUT])

    def hand_over(self, delivery: Delivery) -> Iterator[str]:
        """Hand an alert over, on the thread that calls; why not, of each that fails."""
        for target, act in ((delivery.command, self._run), (delivery.webhook, self._post)):
            try:
                why = act(delivery) if target and not self._ends else ""
            except Exception as exc:  # noqa: BLE001 - thread main: reported, goes on
                why = f"An alert was not sent: {type(exc).__name__}: {exc}"
            if why:
                yield why

    def _next(self) -> Delivery | None:
        """The delivery that waits longest; None: there is none, and this thread ends."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None

    def _run(self, delivery: Delivery) -> str:
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
                return f"The alert command cannot be run: {arguments[0]}: {exc.strerror}."
            self._begin(process)
            try:
                process.communicate(f"{json.dumps(delivery.facts)}\n".encode(), timeout=_COMMAND_S)
            except subprocess.TimeoutExpired:
                _kill(process)
                process.communicate()
                return f"The alert command was killed: it took longer than {_COMMAND_S:g} s."
            finally:
                self._process = None
            if not process.returncode:
                return ""
            last = last_line(stderr_file, _LONGEST_OUTPUT)
        return f"The alert command exited with status {process.returncode}. {last}".strip()

    def _begin(self, process: subprocess.Popen[bytes]) -> None:
        """It runs now; where all has been ended meanwhile it goes, too."""
        with self._lock:
            self._process = process
            is_late = self._ends
        if is_late:
            _kill(process)

    def _post(self, delivery: Delivery) -> str:
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
                return ""
        except urllib.error.HTTPError as exc:
            return f"The alert webhook at {host} rejected the alert: {exc.code} {exc.reason}."
        except (OSError, urllib.error.URLError) as exc:
            why = getattr(exc, "reason", exc)
            return f"The alert webhook at {host} could not be reached: {why}."


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it and its child processes, where the system has process groups."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Requests go to the address that the user named only, not where it points to."""

    @override
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirect)
