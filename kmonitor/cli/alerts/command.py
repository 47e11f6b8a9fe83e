"""`kmonitor alerts`: rules and targets on this host, their test, and the log of sent alerts."""

import difflib
import sys
import time
from typing import Annotated, Any, Final

import msgspec
from cyclopts import App, Parameter
from cyclopts.validators import Number

from kmonitor.alerts.delivery import (
    AlertSender,
    Delivery,
    invalid_command_reason,
    invalid_webhook_reason,
)
from kmonitor.alerts.evaluator import NOT_SENT, Alert, AlertEvaluator, decode_hand_over
from kmonitor.alerts.retries import Retry, encode_retries
from kmonitor.alerts.rules import (
    LONGEST_COOLDOWN_S,
    LONGEST_HOLD_S,
    AlertSettings,
    WebhookForm,
    load_alert_settings,
    rule_keys,
    rule_name,
    save_alert_settings,
)
from kmonitor.alerts.sent_log import SentAlert, SentAlertLog
from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import open_hub
from kmonitor.cli.common.options import JsonOption, seconds_from
from kmonitor.cli.common.run_choice import SHORT_ID
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    UsageError,
    print_json,
    print_stderr,
    print_table,
    print_text,
    terminal_safe,
)
from kmonitor.connect.local_hub import request_local_hub
from kmonitor.export.events import decode_row
from kmonitor.ui.alerts.alert_text import alert_facts, alert_text, rule_title
from kmonitor.ui.events.event_log import LOG_KINDS
from kmonitor.ui.text.formats import clock_text, duration_text, moment_text, with_plain_spaces
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.unions import RunSummary

app = App(name="alerts")

_MOST_INPUT: Final = 16 * 2**20


@app.default
def alerts(*, json: JsonOption = False) -> int:
    """List the alert rules and targets.

    Example: `kmonitor alerts --json`

    They apply to the hub and the window on this host. Only you can change
    them, and only from this host.

    Args:
        json: One JSON object: `command`, `webhook`, `form`, `rules` and `hub` (`on`, `off`, or
            empty if none is running).
    """
    settings = load_alert_settings(find_folders().settings)
    reply = request_local_hub(find_folders())
    hub = "" if reply is None else reply.alerts
    rules = [(*key, settings.rule(*key)) for key in rule_keys()]
    if json:
        found: dict[str, Any] = {
            "command": settings.command,
            "webhook": settings.webhook,
            "form": settings.form,
            "hub": hub,
        }
        named = {rule_name(k, m): msgspec.to_builtins(rule) for k, m, rule in rules}
        print_json(found | {"rules": named})
        return DONE
    print_text(f"Command  {terminal_safe(settings.command) or 'none'}")
    print_text(f"Webhook  {terminal_safe(settings.webhook) or 'none'} ({settings.form})")
    hubs = {"on": "sends alerts", "off": "has no target for them"}
    print_text(f"Hub      {hubs.get(hub, 'none is running here')}")
    for trouble in () if reply is None else reply.troubles:
        if trouble.startswith(NOT_SENT):
            print_stderr(f"kmonitor: {terminal_safe(trouble)}")
    _warn_without_hub(hub)
    print_text()
    rows = [
        (
            rule_name(kind, metric),
            rule_title(kind, metric),
            "on" if rule.is_on else "off",
            _time_text(rule.hold_s),
            _time_text(rule.cooldown_s),
        )
        for kind, metric, rule in rules
    ]
    headers = ("RULE", "ALERT", "IS", "HOLD", "COOLDOWN")
    print_table(headers, rows, right=headers[3:], folds=("ALERT",), drops=("ALERT",))
    return DONE


def _time_text(seconds: float) -> str:
    return with_plain_spaces(duration_text(seconds)) if seconds else "-"


@app.command(name="set")
def set_targets(
    *,
    command: Annotated[str | None, Parameter(name="--command")] = None,
    webhook: Annotated[str | None, Parameter(name="--webhook")] = None,
    form: Annotated[WebhookForm | None, Parameter(name="--form")] = None,
) -> int:
    """Set the alert targets: a command, a webhook URL, or both; an empty value removes one.

    Example: `kmonitor alerts set --webhook https://ntfy.sh/my-topic`

    Args:
        command: Run on this host for each alert, without a shell, with the alert as JSON on
            standard input.
        webhook: Receives each alert by POST, in the format set with `--form`.
        form: `json`, `slack`, `mattermost` or `ntfy`; `auto`: determined by the address.
    """
    if command is None and webhook is None and form is None:
        raise UsageError("No target given. Use --command COMMAND or --webhook URL.")
    for why in (invalid_command_reason(command or ""), invalid_webhook_reason(webhook or "")):
        if why:
            raise UsageError(why)
    settings = load_alert_settings(find_folders().settings)
    changed = {"command": command, "webhook": webhook, "form": form}
    _save(
        msgspec.structs.replace(
            settings, **{name: value for name, value in changed.items() if value is not None}
        )
    )
    print_text("Saved. The hub on this host and any open window apply the change within seconds.")
    print_text("Try it: kmonitor alerts test")
    _warn_without_hub()
    return DONE


def _warn_without_hub(hub: str | None = None) -> None:
    """Warn that no alert is sent while no hub runs; `hub`: state of the hub, if known."""
    if hub is None:
        reply = request_local_hub(find_folders())
        hub = "" if reply is None else reply.alerts
    if not hub:
        print_stderr(
            "kmonitor: no hub is running on this host, so no alerts are sent. Start one that keeps"
            " running: kmonitor hub install-unit"
        )


@app.command
def rule(
    name: Annotated[str, Parameter(name="RULE")],
    /,
    *,
    is_on: Annotated[bool | None, Parameter(name="--on", negative="--off")] = None,
    hold: str | None = None,
    cooldown: str | None = None,
) -> int:
    """Change a rule.

    Example: `kmonitor alerts rule limit:ram --hold 30s --cooldown 10m`

    Args:
        name: As `kmonitor alerts` lists it: `limit:ram`, `verdict:step_time`, `host`, `died`.
        is_on: Enable alerts of this kind; `--off`: disable them.
        hold: How long the condition must last: `30s`, `5m`.
        cooldown: Minimum time between two alerts for the same run or host: `10m`.
    """
    keys = {rule_name(*key): key for key in rule_keys()}
    if name not in keys:
        near = difflib.get_close_matches(name, keys, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f'Unknown rule: "{name}".{meant}', f"Rules: {', '.join(keys)}")
    if is_on is hold is cooldown is None:
        raise UsageError("Nothing to change. Use --on, --off, --hold or --cooldown.")
    folder = find_folders().settings
    settings = load_alert_settings(folder)
    before = settings.rule(*keys[name])
    after = msgspec.structs.replace(
        before,
        is_on=before.is_on if is_on is None else is_on,
        hold_s=_seconds(hold, "--hold", before.hold_s, LONGEST_HOLD_S),
        cooldown_s=_seconds(cooldown, "--cooldown", before.cooldown_s, LONGEST_COOLDOWN_S),
    )
    _save(msgspec.structs.replace(settings, rules={**settings.rules, name: after}))
    print_text(f"Saved: {name}.")
    return DONE


def _seconds(text: str | None, option: str, before: float, most: float) -> float:
    if text is None:
        return before
    seconds = 0.0 if text == "0" else seconds_from(text, option, bare_s=1)
    if seconds > most:
        raise UsageError(f"{option} {text} is too long; the maximum is {duration_text(most)}.")
    return seconds


def _save(settings: AlertSettings) -> None:
    if why := save_alert_settings(find_folders().settings, settings):
        raise UserError(why)


@app.command
def test() -> int:
    """Send a sample alert now and report any errors.

    Example: `kmonitor alerts test`
    """
    settings = load_alert_settings(find_folders().settings)
    if not (settings.command or settings.webhook):
        raise UserError("No alert target is set.", "Set one: kmonitor alerts set --webhook URL")
    why = "This is a test alert; nothing is wrong."
    alert = Alert("ended", "test", "", "kmonitor", "", time.time(), why=why)
    if _hand_over([Delivery.of(_facts(alert), settings)]):
        return FAILED
    print_text("Sent.")
    _warn_without_hub()
    return DONE


@app.command(name="dry-run")
def dry_run(
    *,
    since: Annotated[str, Parameter(name="--since")] = "24h",
    json: JsonOption = False,
) -> int:
    """List the alerts that the rules would have sent recently, based on the stored data.

    Example: `kmonitor alerts dry-run --since 7d`

    Args:
        since: How far back: `24h`, `7d`.
        json: One JSON list of alerts, each in the form that an alert command receives.
    """
    now_wall_s = time.time()
    begin_wall_s = now_wall_s - seconds_from(since, "--since")
    evaluator = AlertEvaluator(load_alert_settings(find_folders().settings))
    found: list[Alert] = []
    with open_hub() as client:
        events = [
            (run.started_wall_s + row.t_s, run, row)
            for run in client.runs()
            if run.last_wall_s >= begin_wall_s
            for row in client.all_rows(run.run, LOG_KINDS)
        ]
    for wall_s, run, row in sorted(events, key=lambda each: each[0]):
        if wall_s >= begin_wall_s:
            found += evaluator.due(wall_s)
            _apply(evaluator, run, decode_row(row), wall_s)
    found += evaluator.due(now_wall_s + LONGEST_HOLD_S)
    if json:
        print_json([alert_facts(alert) for alert in found])
    elif found:
        rows = [
            (
                with_plain_spaces(moment_text(alert.wall_s, now_wall_s=now_wall_s)),
                alert.subject[:SHORT_ID],
                alert.title,
                rule_name(alert.kind, alert.metric),
                alert_text(alert),
            )
            for alert in found
        ]
        print_table(("WHEN", "RUN", "NAME", "RULE", "ALERT"), rows, folds=("ALERT",))
    else:
        print_text("No alerts would have been sent.")
    return DONE


def _apply(evaluator: AlertEvaluator, run: RunSummary, event: Any, wall_s: float) -> None:
    if event is not None:
        evaluator.apply_event(run.run, run.name, run.host, event, wall_s=wall_s, now_wall_s=wall_s)


@app.command
def sent(
    *,
    limit: Annotated[int, Parameter(name="--limit", validator=Number(gte=1))] = 50,
    json: JsonOption = False,
) -> int:
    """List the alerts that were sent from this host to a command or webhook, newest first.

    Example: `kmonitor alerts sent --limit 20`

    Each attempt is listed on its own line, with its result. The most recent few hundred are kept.

    Args:
        limit: Show at most this many attempts.
        json: One JSON list: each alert in the form that an alert command receives, with
            `sent_wall_s`, `target`, `why` (empty: delivered) and `again_wall_s` (null: no retry).
    """
    log = SentAlertLog(find_folders().database)
    try:
        found = log.newest(limit)
    except OSError as exc:
        raise UserError(f"The list cannot be read: {exc}.") from exc
    if json:
        print_json([each.facts | _about_try(each) for each in found])
    elif found:
        rows = [_sent_row(each, time.time()) for each in found]
        headers = ("WHEN", "RUN", "NAME", "RULE", "ALERT", "TO", "RESULT")
        print_table(headers, rows, folds=("ALERT", "RESULT"), drops=("RUN", "RULE"))
    else:
        print_text("No alerts have been sent yet.")
    return DONE


def _about_try(sent: SentAlert) -> dict[str, Any]:
    fields = msgspec.structs.asdict(sent)
    del fields["facts"]
    return fields


def _sent_row(sent: SentAlert, now_wall_s: float) -> tuple[str, ...]:
    fact = {name: str(value) for name, value in sent.facts.items()}
    rule = ":".join(filter(None, (fact.get("kind"), fact.get("metric"))))
    result = f"failed: {sent.why}" if sent.why else "sent"
    if sent.again_wall_s is not None:
        result += f" Next attempt at {clock_text(sent.again_wall_s)}."
    return (
        with_plain_spaces(moment_text(sent.sent_wall_s, now_wall_s=now_wall_s)),
        fact.get("subject", "")[:SHORT_ID],
        fact.get("title", ""),
        rule,
        fact.get("text", ""),
        sent.target,
        result,
    )


@app.command(show=False)
def deliver() -> int:
    """Send the alerts that the hub passes on standard input; used by the hub itself."""
    given = decode_hand_over(sys.stdin.buffer.read(_MOST_INPUT))
    settings = load_alert_settings(find_folders().settings)
    deliveries = [Delivery.of(_facts(alert), settings) for alert in given.alerts]
    deliveries += [Delivery.again(retry, settings) for retry in given.again]
    failures = _hand_over(deliveries)
    sys.stdout.buffer.write(encode_retries([retry for retry in failures if retry is not None]))
    return FAILED if failures else DONE


def _hand_over(deliveries: list[Delivery]) -> list[Retry | None]:
    """Deliver alerts and print failures; return the next try of each failure, if any."""
    sender = AlertSender(lambda _why, _retry: None, SentAlertLog(find_folders().database))
    failures: list[Retry | None] = []
    for delivery in deliveries:
        for why, retry in sender.hand_over(delivery):
            print_stderr(f"kmonitor: {terminal_safe(why)}")
            failures.append(retry)
    return failures


def _facts(alert: Alert) -> dict[str, str | float]:
    return {
        name: with_plain_spaces(value) if isinstance(value, str) else value
        for name, value in alert_facts(alert).items()
    }
