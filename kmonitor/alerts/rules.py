"""Rules for alerts, stored as JSON: for each kind on or off, hold time and cooldown."""

import logging
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from kmonitor_agent.wire.local.private_files import make_own_folder, read_own, write_private
from kmonitor_agent.wire.messages.commands import (
    LIMIT_METRICS,
    STEP_TIME_METRICS,
    LimitMetric,
)
from kmonitor_agent.wire.messages.fields import Name
from kmonitor_agent.wire.messages.verdict_events import VERDICT_METRICS

AlertKind = Literal["limit", "action", "verdict", "host", "died", "ended"]
"""A limit is crossed, its action does not help, a verdict turns, a host is lost, a run
dies or ends."""

AlertMetric = LimitMetric | Literal[""]
"""Metric of a limit or verdict; empty for the others."""

WebhookForm = Literal["auto", "json", "slack", "mattermost", "ntfy"]

RuleKey = tuple[AlertKind, AlertMetric]
LONGEST_HOLD_S: Final = 3_600.0
LONGEST_COOLDOWN_S: Final = 86_400.0
_log = logging.getLogger(__name__)
_FILE_NAME = "alerts.json"


class AlertRule(msgspec.Struct, frozen=True):
    """Rule for one kind of alert.

    Attributes:
        is_on: True if alerts of this kind are raised.
        hold_s: Least duration of the cause before an alert, seconds.
        cooldown_s: Least time between two alerts on the same run or host, seconds.
    """

    is_on: bool = True
    hold_s: Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_HOLD_S)] = 0.0
    cooldown_s: Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_COOLDOWN_S)] = 0.0


_USUAL: Final[dict[AlertKind, AlertRule]] = {
    "limit": AlertRule(cooldown_s=600.0),
    "action": AlertRule(cooldown_s=600.0),
    "verdict": AlertRule(cooldown_s=600.0),
    # A laptop that wakes up takes a while to find its hosts again.
    "host": AlertRule(hold_s=30.0, cooldown_s=600.0),
    "died": AlertRule(),
    # The cause of an end is certain only a moment after the process has announced it.
    "ended": AlertRule(hold_s=3.0),
}


class AlertSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's choices.

    Attributes:
        rules: Rules that differ from the default ones, by `rule_name`.
        command: Run on this machine for each alert, with the alert as JSON at its standard
            input; empty: nothing is run.
        webhook: http or https address to which each alert is posted; empty: none.
        form: Form of the posted message; "auto": derived from the address.
    """

    rules: Annotated[dict[Name, AlertRule], msgspec.Meta(max_length=100)] = {}
    command: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    webhook: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    form: WebhookForm = "auto"

    def rule(self, kind: AlertKind, metric: AlertMetric = "") -> AlertRule:
        """The user's rule, or else the default one."""
        return self.rules.get(rule_name(kind, metric), default_rule(kind))


def rule_keys() -> list[RuleKey]:
    """Keys of all rules, in the order in which they are shown."""
    limits: list[RuleKey] = [
        ("limit", metric) for metric in LIMIT_METRICS if ruled_metric(metric) == metric
    ]
    verdicts: list[RuleKey] = [
        ("verdict", metric) for metric in VERDICT_METRICS if ruled_metric(metric) == metric
    ]
    others: list[RuleKey] = [("host", ""), ("died", ""), ("ended", "")]
    return [*limits, ("action", ""), *verdicts, *others]


def ruled_metric(metric: LimitMetric) -> LimitMetric:
    """Metric whose rule applies to this one: all times share one rule."""
    return "step_time" if metric in STEP_TIME_METRICS or metric == "epoch_time" else metric


def rule_name(kind: AlertKind, metric: AlertMetric = "") -> str:
    """Key in the settings: "limit:ram", "host"."""
    return f"{kind}:{metric}" if metric else kind


def default_rule(kind: AlertKind) -> AlertRule:
    """Rule that applies unless the user chose another one."""
    return _USUAL[kind]


def settings_stamp(folder: Path) -> tuple[int, int, int]:
    """Stamp of the rules' file that differs after every change, by any process."""
    try:
        found = (folder / _FILE_NAME).stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


def load_alert_settings(folder: Path) -> AlertSettings:
    """Rules from `alerts.json` in a folder; the default ones if the file is missing or damaged."""
    path = folder / _FILE_NAME
    try:
        return msgspec.json.decode(read_own(path), type=AlertSettings)
    except FileNotFoundError:
        return AlertSettings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        _log.warning("%s is ignored: %s", path, exc)
        return AlertSettings()


def save_alert_settings(folder: Path, settings: AlertSettings) -> str:
    """Write `alerts.json`, readable by its owner alone: an address may hold a secret.

    Returns:
        Reason why the file could not be written; empty: it was written.
    """
    path = folder / _FILE_NAME
    try:
        make_own_folder(folder)
        write_private(path, msgspec.json.format(msgspec.json.encode(settings)))
    except OSError as exc:
        _log.warning("%s was not written: %s", path, exc)
        return f"{path} cannot be written: {exc.strerror}."
    return ""
