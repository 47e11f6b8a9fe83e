"""Alerts that are due: events of runs and losses of hosts, compared with the rules.

The functions at the end encode alerts for the process that delivers them, or for the next hub.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kmonitor.alerts.retries import Retry
from kmonitor.alerts.rules import (
    AlertKind,
    AlertMetric,
    AlertSettings,
    ruled_metric,
)
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES

_OLD_S: Final = 120.0
"""Age, seconds, from which an arriving event is history and raises no alert."""

_MOST_REMEMBERED: Final = 4096

NOT_SENT: Final = "alerts were not sent"
"""Beginning of a hub's message on alerts that it could not hand over."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    Attributes:
        subject: Run id, or address of a host.
        metric: Metric of a limit or verdict; else empty.
        title: Name of the run or host.
        host: Host of the run, or the host's name; empty: not known.
        wall_s: Time of the event, UTC epoch seconds.
        event: Event of the run; it is formatted as text where it is shown.
        why: Reason for the loss of a host; may be empty.
        unseen: Number of equal alerts that the cooldown has suppressed since the last one.
    """

    kind: AlertKind
    subject: str
    metric: AlertMetric
    title: str
    host: str
    wall_s: float
    event: events.AnyEvent | None = None
    why: str = ""
    unseen: int = 0


class _Waiting(msgspec.Struct, frozen=True):
    alert: Alert
    since_s: float
    earliest_s: float = 0.0


_STEPS: Final = "steps"
_Key = tuple[str, str, AlertMetric]
"""Subject, topic and metric: a newer alert of the same key replaces an older one."""


class HeldAlerts(msgspec.Struct, frozen=True):
    """State that one hub hands to the next: alerts not yet due, and the history of earlier ones.

    Attributes:
        waiting: Alerts held back by their rules.
        last_alert_s: Time of the last alert, UTC epoch seconds, for the cooldowns.
        unseen: Number of alerts that the cooldown has suppressed since then.
        lost: Addresses of the lost hosts, with an alert that was raised or is waiting.
        due: Alerts that are due and not handed over yet.
        again: Alerts that a target did not take, to be sent to it again.
    """

    waiting: list[tuple[_Key, _Waiting]] = []
    last_alert_s: list[tuple[_Key, float]] = []
    unseen: list[tuple[_Key, int]] = []
    lost: list[str] = []
    due: list[Alert] = []
    again: list[Retry] = []


class AlertEvaluator:
    """Takes events and returns the alerts that are due; for one thread.

    Attributes:
        settings: The rules in force.
    """

    def __init__(self, settings: AlertSettings | None = None) -> None:
        self.settings = settings or AlertSettings()
        self._waiting: dict[_Key, _Waiting] = {}
        self._last_alert_s: dict[_Key, float] = {}
        self._unseen: dict[_Key, int] = {}
        self._lost: set[str] = set()
        self._stops: dict[str, events.ActionRecord] = {}

    def apply_event(
        self,
        run: str,
        name: str,
        host: str,
        event: events.AnyEvent,
        *,
        wall_s: float,
        now_wall_s: float,
    ) -> None:
        """Take an event of a run; an old event raises no alert, but may end a waiting one.

        Args:
            host: Host of the run; empty: not known.
            wall_s: Time of the event, UTC epoch seconds.
            now_wall_s: Now, UTC epoch seconds.
        """
        match event:
            case events.LimitCrossed(crossed=False):
                topic = _topic_of(event, "limit")
                self._waiting.pop((run, topic, ruled_metric(event.metric)), None)
            case events.Verdict() if event.state not in ALARMED_STATES | {"cleared"}:
                self._waiting.pop((run, "verdict", ruled_metric(event.metric)), None)
            case events.Notice(code="steps_again"):
                self._waiting.pop((run, _STEPS, "step_time"), None)
            case events.SessionStarted():
                # It goes on: what its process before said of its end is over.
                self._waiting.pop((run, "life", ""), None)
            case _:
                kind = _kind_of(event)
                event = self._with_requester(run, event)
                if kind is not None and now_wall_s - wall_s <= _OLD_S:
                    alert = Alert(kind, run, _metric_of(event), name, host, wall_s, event)
                    self._wait(alert, now_wall_s, topic=_topic_of(event, kind))

    def _with_requester(self, run: str, event: events.AnyEvent) -> events.AnyEvent:
        """Replace the end of a run by the record of its stop, which names the requester.

        A script may continue after a fit that was stopped, and end in another way.
        """
        match event:
            case events.ActionRecord(action="stop"):
                self._stops[run] = event
            case events.SessionEnded() | events.SessionDied():
                stop = self._stops.pop(run, event)
                if isinstance(event, events.SessionEnded) and event.why == "stopped":
                    return stop
            case _:
                pass
        return event

    def hosts(self, lost: Iterable[tuple[str, str, str]], *, now_wall_s: float) -> None:
        """Update the lost hosts.

        Args:
            lost: Address, name, and reason in a sentence (empty: not known) of each lost host.
            now_wall_s: Now, UTC epoch seconds.
        """
        lost = list(lost)
        gone = {address for address, _, _ in lost}
        for address in self._lost - gone:
            self._waiting.pop((address, "host", ""), None)
        for address, name, why in lost:
            if address not in self._lost:
                alert = Alert("host", address, "", name, name, now_wall_s, why=why)
                self._wait(alert, now_wall_s, topic="host")
        self._lost = gone

    @property
    def is_waiting(self) -> bool:
        """True if something may become due."""
        return bool(self._waiting)

    def due(self, now_wall_s: float) -> list[Alert]:
        """Alerts that are due now, oldest first; each is returned once."""
        found: list[Alert] = []
        for key, waiting in list(self._waiting.items()):
            alert = waiting.alert
            rule = self.settings.rule(alert.kind, alert.metric)
            if max(waiting.since_s + rule.hold_s, waiting.earliest_s) > now_wall_s:
                continue
            del self._waiting[key]
            if not rule.is_on:
                continue
            last_alert_s = self._last_alert_s.get(key)
            if last_alert_s is not None and now_wall_s - last_alert_s < rule.cooldown_s:
                self._unseen[key] = self._unseen.get(key, 0) + 1
                continue
            self._last_alert_s.pop(key, None)
            self._last_alert_s[key] = now_wall_s
            found.append(replace(alert, unseen=self._unseen.pop(key, 0)))
        while len(self._last_alert_s) > _MOST_REMEMBERED:
            self._last_alert_s.pop(next(iter(self._last_alert_s)))
        return sorted(found, key=lambda alert: alert.wall_s)

    def held(self) -> HeldAlerts:
        """Alerts that are held back, and the state of the cooldowns."""
        return HeldAlerts(
            waiting=list(self._waiting.items()),
            last_alert_s=list(self._last_alert_s.items()),
            unseen=list(self._unseen.items()),
            lost=sorted(self._lost),
        )

    def restore(self, held: HeldAlerts, *, earliest_s: float) -> None:
        """Continue from the state of another evaluator.

        Args:
            held: Result of the other evaluator's `held`.
            earliest_s: Earliest time at which restored alerts are due, UTC epoch seconds: by then
                events that end them have been received.
        """
        self._waiting = {
            key: msgspec.structs.replace(waiting, earliest_s=earliest_s)
            for key, waiting in held.waiting
        }
        self._last_alert_s = dict(held.last_alert_s)
        self._unseen = dict(held.unseen)
        self._lost = set(held.lost)

    def _wait(self, alert: Alert, now_wall_s: float, *, topic: str) -> None:
        rule = self.settings.rule(alert.kind, alert.metric)
        key = (alert.subject, topic, alert.metric)
        before = self._waiting.get(key)
        since_s = now_wall_s
        if before is not None and before.alert.kind == alert.kind:
            since_s = before.since_s
        if rule.is_on:
            self._waiting[key] = _Waiting(alert, since_s)
        else:
            self._waiting.pop(key, None)


def _kind_of(event: events.AnyEvent) -> AlertKind | None:
    match event:
        case events.LimitCrossed():
            return "limit"
        case events.ActionRecord() | events.Notice(code="nothing_helps") if _is_in_vain(event):
            return "action"
        case events.Verdict(turned=True) | events.Notice(code="no_steps"):
            return "verdict"
        case events.SessionDied() | events.SessionEnded(why="failed") | events.Notice(code="lost"):
            return "died"
        case events.SessionEnded(why="finished" | "interrupted" | "stopped"):
            return "ended"
        case _:
            return None


def _is_in_vain(event: events.ActionRecord | events.Notice) -> bool:
    """True if the action of a limit failed or released nothing: the limit is still exceeded."""
    if isinstance(event, events.Notice):
        return True
    is_of_limit = event.requested_by.startswith("limit ") and not event.part_of
    return is_of_limit and (not event.ok or bool(event.unchanged))


def _topic_of(event: events.AnyEvent, kind: AlertKind) -> str:
    if isinstance(event, events.Notice) and event.code == "no_steps":
        return _STEPS  # a verdict a moment ago must not hide it
    if isinstance(event, events.LimitCrossed):
        return f"{event.metric}:{event.action}"  # "stop" at 90% is not hidden by "notify" at 80%
    return "life" if kind in {"died", "ended"} else kind


def _metric_of(event: events.AnyEvent) -> AlertMetric:
    if isinstance(event, events.Notice) and event.code == "no_steps":
        return "step_time"  # steps that take for ever
    is_of_metric = isinstance(event, events.LimitCrossed | events.Verdict)
    return ruled_metric(event.metric) if is_of_metric else ""


class HandOver(msgspec.Struct, frozen=True):
    """Alerts that the hub hands to the process that delivers them.

    Attributes:
        alerts: Alerts for all targets.
        again: Alerts for the one target that did not take them.
    """

    alerts: list[Alert] = []
    again: list[Retry] = []


_decoder = msgspec.msgpack.Decoder(HandOver)
_held_decoder = msgspec.msgpack.Decoder(HeldAlerts)


def encode_hand_over(hand_over: HandOver) -> bytes:
    return msgspec.msgpack.encode(hand_over)


def decode_hand_over(data: bytes) -> HandOver:
    """Decode alerts from `encode_hand_over`. Raises: `msgspec.MsgspecError`."""
    return _decoder.decode(data)


def encode_held(held: HeldAlerts) -> bytes:
    """Encode held alerts; empty: there are none."""
    return b"" if held == HeldAlerts() else msgspec.msgpack.encode(held)


def decode_held(data: bytes) -> HeldAlerts:
    """Decode held alerts from `encode_held`. Raises: `msgspec.MsgspecError`."""
    return _held_decoder.decode(data)
