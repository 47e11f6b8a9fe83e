"""Alerts and their rules as text, in the viewer's language."""

from kmonitor.alerts.evaluator import Alert
from kmonitor.alerts.rules import AlertKind, AlertMetric
from kmonitor.ui.events.event_log import event_line
from kmonitor.ui.events.event_text import Level
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import metric_name


def alert_level(alert: Alert) -> Level:
    line = None if alert.event is None else event_line(alert.event, name="")
    if line is not None:
        return line.level
    return "error" if alert.kind == "host" else "info"


def alert_text(alert: Alert) -> str:
    """Describe the alert in one sentence, with the number of suppressed alerts."""
    text = _sentence(alert)
    if not alert.unseen:
        return text
    return tr("{text} ({n} more like this)").format(text=text, n=alert.unseen)


def _sentence(alert: Alert) -> str:
    line = None if alert.event is None else event_line(alert.event, name="")
    if line is not None:
        return line.text
    if alert.kind == "host":
        return (
            tr("Connection to the host lost: {why}").format(why=alert.why)
            if alert.why
            else tr("Host unreachable")
        )
    return alert.why


def alert_facts(alert: Alert) -> dict[str, str | float]:
    """Return the alert as fields for programs."""
    return {
        "kind": alert.kind,
        "subject": alert.subject,
        "metric": alert.metric,
        "title": alert.title,
        "host": alert.host,
        "text": alert_text(alert),
        "gravity": alert_level(alert),
        "wall_s": alert.wall_s,
    }


def rule_title(kind: AlertKind, metric: AlertMetric = "") -> str:
    """Title of a rule as the user sees it: "RAM: limit exceeded"."""
    name = metric_name(metric) if metric else ""
    match kind:
        case "limit":
            return tr("{metric}: limit exceeded").format(metric=name)
        case "action":
            return tr("Limit action did not help")
        case "verdict":
            return tr("{metric}: verdict changed").format(metric=name)
        case "host":
            return tr("Host unreachable")
        case "died":
            return tr("Run crashed")
        case "ended":
            return tr("Run ended")
