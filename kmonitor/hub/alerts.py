"""Alerts of the hub: rules evaluated without a window, handed over by a process of its own.

The hub decides which alerts are due and starts `kmonitor alerts deliver` for them. That process
makes the words, runs the user's command and asks the webhook, so that neither a slow network nor a
hanging command holds the hub up, and the hub needs no texts. Nothing is set over a socket: the
rules are `alerts.json`, which this user's window and `kmonitor alerts` write on this host.

Alerts that are held back, and the times of those before them, lie in a file: the next hub
continues from it. It waits until agents are back, so that runs that ended meanwhile end their
alerts too. The file is written before alerts are handed over: a hub that is killed just then loses
them, and repeats none. Alerts that a target did not take come back from that process, wait in the
file too, and are handed over again (`kmonitor.alerts.retries`).
"""

import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final, Literal

import msgspec

from kmonitor.alerts.evaluator import (
    NOT_SENT,
    Alert,
    AlertEvaluator,
    HandOver,
    decode_held,
    encode_hand_over,
    encode_held,
)
from kmonitor.alerts.retries import WAITS_S, Retry, decode_retries, due_retries
from kmonitor.alerts.rules import load_alert_settings, settings_stamp
from kmonitor.base.output import last_line
from kmonitor.hub.log import LOG
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.private_files import read_own, write_private
from kmonitor_agent.wire.messages.events import AnyEvent

ALERTS_EVERY_S: Final = 1.0
_MOST_WAITING: Final = 100
_LONGEST_TEXT: Final = 300
HELD_NAME: Final = "alerts.held"
_SETTLING_S: Final = 6.0
"""Time in which agents find a restarted hub, seconds; each tries at least once in 3 s."""

_Happened = tuple[RunRecord, AnyEvent, float]


class HubAlerts:
    """Owned by the hub's main thread.

    Args:
        settings: Folder of `alerts.json`.
        held: File of the alerts that this hub holds back, and that an earlier hub left.
    """

    def __init__(self, settings: Path, held: Path, host: str, clock: Clock) -> None:
        self._folder = settings
        self._held = held
        self._host = host
        self._clock = clock
        self._evaluator = AlertEvaluator()
        self._stamp: object = None
        self._uncommitted: list[_Happened] = []
        self._waiting: deque[Alert] = deque(maxlen=_MOST_WAITING)
        self._again: list[Retry] = []
        self._failed_starts = 0
        self._next_start_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._stdout: IO[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self.trouble = ""
        """Why the last alerts were not handed over, without a full stop; empty: they were."""
        self._saved = b""
        self._settled_s = clock.wall_s()
        self._restore()

    @property
    def state(self) -> Literal["off", "on"]:
        """State: "on" if alerts are handed over."""
        settings = self._evaluator.settings
        return "on" if settings.command or settings.webhook else "off"

    @property
    def is_needed(self) -> bool:
        """True while an alert is held back by its rule, or is being handed over."""
        return self.state == "on" and bool(
            self._evaluator.is_waiting or self._waiting or self._again or self._process
        )

    def on_event(self, record: RunRecord, event: AnyEvent | None) -> None:
        """Take an appended event; it counts once it is committed."""
        if event is not None:
            wall_s = record.session_started_wall_s + event.t_s
            self._uncommitted.append((record, event, wall_s))

    def after_commit(self) -> None:
        """Apply the appended events: they are stored, and no agent sends them to another hub."""
        happened, self._uncommitted = self._uncommitted, []
        now_wall_s = self._clock.wall_s()
        for record, event, wall_s in happened:
            self._evaluator.apply_event(
                record.run,
                record.name,
                record.host,
                event,
                wall_s=wall_s,
                now_wall_s=now_wall_s,
            )
        if happened:
            self._save()

    def step(self, live: Iterable[RunRecord]) -> None:
        """Read the rules again if they changed, and hand over what is due.

        Args:
            live: Runs whose process is not known to be gone.
        """
        self._refresh()
        now_wall_s = self._clock.wall_s()
        if now_wall_s >= self._settled_s:
            self._evaluator.hosts(self._lost_hosts(live), now_wall_s=now_wall_s)
        due = self._evaluator.due(now_wall_s)
        if self.state == "on":
            if len(self._waiting) + len(due) > _MOST_WAITING:
                self._set_trouble("alerts are arriving faster than they can be sent")
            self._waiting.extend(due)
        else:
            self._waiting.clear()
            self._again.clear()
        if self._process is not None and self._process.poll() is not None:
            self._note_end(self._process.returncode)
        hand_over = HandOver()
        if self._process is None and now_wall_s >= self._next_start_s:
            retries, self._again = due_retries(self._again, now_wall_s)
            hand_over = HandOver(list(self._waiting), retries)
            self._waiting.clear()
        self._save()
        if hand_over != HandOver():
            self._start(hand_over)

    def _refresh(self) -> None:
        stamp = settings_stamp(self._folder)
        if stamp != self._stamp:
            self._stamp = stamp
            self._evaluator.settings = load_alert_settings(self._folder)

    def _lost_hosts(self, live: Iterable[RunRecord]) -> list[tuple[str, str, str]]:
        """Other hosts none of whose runs sends anything any more."""
        silent: dict[str, bool] = {}
        for record in live:
            if record.host not in {"", self._host} and not record.is_shipped:
                silent[record.host] = silent.get(record.host, True) and record.state == "silent"
        return [(host, host, "") for host, is_silent in silent.items() if is_silent]

    def _restore(self) -> None:
        try:
            self._saved = read_own(self._held)
            held = decode_held(self._saved)
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as exc:
            LOG.warning("alerts that were held back are lost: %s: %s", self._held, exc)
            return
        self._settled_s += _SETTLING_S
        self._evaluator.restore(held, earliest_s=self._settled_s)
        self._waiting.extend(held.due)
        self._again += held.again

    def _save(self) -> None:
        if self._stamp is None:
            return  # the rules are not read yet
        held = msgspec.structs.replace(
            self._evaluator.held(), due=list(self._waiting), again=self._again
        )
        data = encode_held(held) if self.state == "on" else b""
        if data == self._saved:
            return
        self._saved = data
        try:
            if data:
                write_private(self._held, data)
            else:
                self._held.unlink(missing_ok=True)
        except OSError as exc:
            LOG.warning(
                "alerts that are being held back will be lost when this hub stops: %s", exc
            )

    def _start(self, hand_over: HandOver) -> None:
        for alert in hand_over.alerts:
            LOG.info("alert: %s: %s %s", alert.title, alert.kind, alert.metric)
        for retry in hand_over.again:
            LOG.info("alert, sent again: %s: %s", retry.facts["title"], retry.facts["kind"])
        # Closed once the process has ended.
        self._stdout = tempfile.TemporaryFile()  # noqa: SIM115
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        # A file, not a pipe: the hub never waits for a reader.
        with tempfile.TemporaryFile() as given:
            given.write(encode_hand_over(hand_over))
            given.seek(0)
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "kmonitor", "alerts", "deliver"],
                    stdin=given,
                    stdout=self._stdout,
                    stderr=self._stderr,
                    start_new_session=True,
                )
            except OSError as exc:
                self._set_trouble(f"alerts cannot be sent: {exc.strerror or exc}")
                self._close_output()
                self._start_later(hand_over)
            else:
                self._failed_starts = 0

    def _start_later(self, hand_over: HandOver) -> None:
        """Schedule another start: as many attempts as with a target, then drop the alerts."""
        if self._failed_starts == len(WAITS_S):
            self._failed_starts = 0
            return
        self._next_start_s = self._clock.wall_s() + WAITS_S[self._failed_starts]
        self._failed_starts += 1
        self._waiting.extend(hand_over.alerts)
        self._again += hand_over.again

    def _note_end(self, status: int) -> None:
        self._process = None
        last = "" if self._stderr is None else last_line(self._stderr, _LONGEST_TEXT)
        why = last.removeprefix("kmonitor: ").rstrip(".")
        retries = self._retries()
        self._again = [*self._again, *retries][-_MOST_WAITING:]
        next_try = "; they will be retried within a few minutes" if retries else ""
        self._set_trouble(f"{NOT_SENT}: {why}{next_try}" if status else "")
        self._close_output()

    def _retries(self) -> list[Retry]:
        """Report of the process that has ended; nothing if it was killed."""
        if self._stdout is None:
            return []
        self._stdout.seek(0)
        data = self._stdout.read()
        try:
            return decode_retries(data) if data else []
        except msgspec.MsgspecError as exc:
            LOG.warning("failed alerts are not retried: %s", exc)
            return []

    def _set_trouble(self, text: str) -> None:
        if text and text != self.trouble:
            LOG.warning("%s", text)
        self.trouble = text

    def _close_output(self) -> None:
        for file in (self._stdout, self._stderr):
            if file is not None:
                file.close()
        self._stdout = self._stderr = None

    def close(self) -> None:
        """Leave a process that still hands over to itself."""
        self._close_output()
