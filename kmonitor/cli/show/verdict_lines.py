"""A run's verdicts as `kmonitor show` prints them, with what they rest on."""

import time
from collections.abc import Sequence

from kmonitor.cli.common.summary_text import metric_title
from kmonitor.cli.common.terminal import plain, say
from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.formats import plain_text
from kmonitor.ui.verdicts.forecast_text import forecast_words
from kmonitor.ui.verdicts.verdict_text import (
    advice_of,
    evidence_lines,
    headline,
)
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import RunSummary

_INDENT = " " * 12


def verdicts_of(client: HubClient, run: RunSummary) -> list[Verdict]:
    """How the run stands; empty where no epoch has ended, or the hub is too old to judge."""
    try:
        return client.verdicts(run.run)
    except HubRefused:
        return []


def say_verdicts(run: RunSummary, verdicts: Sequence[Verdict]) -> None:
    """Print them; nothing where there is none."""
    if not verdicts:
        return
    say()
    for verdict in verdicts:
        # Of whom the allocator is stands in the table above; here is no room for it.
        title = metric_title(run, verdict.metric).partition(" (")[0]
        _say(title, headline(verdict, is_final=has_ended(run)))
        if verdict.state in {"growing", "suspected"}:
            for line in _evidence(run, verdict):
                _say("", line)


def _evidence(run: RunSummary, verdict: Verdict) -> list[str]:
    lines = evidence_lines(verdict)
    lines.append(forecast_words(run, verdict, now_wall_s=time.time()))
    advice = [
        f"{each.text} (kmonitor command {run.run[:8]} {each.command})"
        if each.command
        else each.text
        for each in advice_of(verdict)
        if each.command is None or each.command in run.actions
    ]
    if advice:
        lines.append(f"What may help: {'; '.join(advice)}")
    return [line for line in lines if line]


def _say(title: str, text: str) -> None:
    say(
        f"{title:<12}{plain(plain_text(text))}" if title else f"{_INDENT}{plain(plain_text(text))}"
    )
