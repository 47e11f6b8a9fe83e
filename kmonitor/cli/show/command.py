"""`kmonitor show`: one run in words: summary, metrics, verdicts, epochs and events."""

import time
from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter

from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.event_text import event_words
from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.statuses import DONE
from kmonitor.cli.common.summary_text import (
    device_absence,
    epoch_words,
    metric_of,
    metric_title,
    metric_words,
    origin_words,
    share_words,
    state_words,
    step_words,
)
from kmonitor.cli.common.terminal import plain, say, say_json, say_table
from kmonitor.cli.show.end_lines import say_end
from kmonitor.cli.show.following import WAY_LOST, Following, HubWay
from kmonitor.cli.show.sections import say_epochs
from kmonitor.cli.show.study_lines import say_study
from kmonitor.cli.show.training_lines import say_training
from kmonitor.cli.show.verdict_lines import say_verdicts, verdicts_of
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import event_object, read_event
from kmonitor.ui.events.event_log import overruled
from kmonitor.ui.limits.limit_text import limit_text
from kmonitor.ui.runs.run_states import stall_advice
from kmonitor.ui.studies.study_store import STUDY_KINDS, is_study
from kmonitor.ui.text.formats import bytes_text, duration_text, moment_text, plain_text
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import Sources
from kmonitor_agent.wire.messages.unions import Row, RunSummary

_METRICS: tuple[LimitMetric, ...] = ("graph", "ram", "vram", "step_time")
_TOLD = ("boot", "boot_end", "model", "fit_start", "fit_end", "epoch_end", "graph")
_DONE = ("action", "diagnosis")
_TOLD_TOO = ("boot_died", "command", "limits", "crossing", "paused", "fault", "notice", "lost")
_JUDGED = ("verdict",)
_KINDS = (*_TOLD, *_DONE, *_TOLD_TOO, *_JUDGED, *STUDY_KINDS)
"""All but samples, which are for charts and `kmonitor export`."""


def show(
    run: str,
    /,
    *,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    follow_it: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Show one run: state, metrics and how they develop, its epochs, and what happened.

    Examples: `kmonitor show last`, `kmonitor show 3f2a --follow`

    Args:
        run: Id, the beginning of an id, name, or `last`.
        json: One JSON object: `summary`, `verdicts`, `events`; with `--follow` one event a line.
        follow_it: Go on with each new event until the run has ended, or Ctrl+C; a hub that is
            lost meanwhile is waited for.
        folder: Of the runs whose spools lie in this folder, which is only read.
        host: Ask the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name of
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    way = HubWay(host, folder, hub)
    following: Following | None = None
    try:
        with way.open() as client:
            chosen = choose_run(client.runs(), run)
            rows = list(client.all_rows(chosen.run, _KINDS))
            if follow_it:  # from here on a hub that is lost is waited for
                tell = _new_row_teller(chosen, json=json)
                following = Following(chosen.run, rows, _KINDS, tell)
            if json:
                _say_as_json(client, chosen, rows, as_lines=follow_it)
            else:
                _say_in_words(client, chosen, rows)
            if following is not None:
                following.go_on(client)
    except WAY_LOST as exc:
        if following is None:
            raise
        following.go_on_over(way, exc)
    return DONE


def _say_as_json(client: HubClient, run: RunSummary, rows: list[Row], *, as_lines: bool) -> None:
    events = [event_object(row) for row in rows]
    if not as_lines:
        verdicts = [fields_of(verdict) for verdict in verdicts_of(client, run)]
        say_json({"summary": fields_of(run), "verdicts": verdicts, "events": events})
        return
    for event in events:
        say_json(event)


def _why_no_device(client: HubClient, run: RunSummary) -> str:
    events = map(read_event, client.all_rows(run.run, ("sources",)))
    return device_absence(event for event in events if isinstance(event, Sources))


def _say_in_words(client: HubClient, run: RunSummary, rows: list[Row]) -> None:
    for title, text in _facts(run):
        say(f"{title:<12} {plain(plain_text(text))}")
    say()
    if is_study(run):
        say_study(run, rows, client.runs())
        _say_events(run, rows)
        return
    _say_metrics(run, _why_no_device(client, run))
    say_verdicts(run, verdicts_of(client, run))
    say_training(rows)
    say_epochs(rows)
    say_end(client, run)
    _say_events(run, rows)


def _facts(run: RunSummary) -> list[tuple[str, str]]:
    stack = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    started = moment_text(run.started_wall_s, now_wall_s=time.time())
    facts = [
        ("Run", f"{run.name}  ({run.run})"),
        ("Where", f"{run.host}, process {run.pid}"),
        ("State", state_words(run)),
        *([("Advice", advice)] if (advice := stall_advice(run)) else []),
        ("Started", f"{started}, ran {duration_text(run.duration_s)}"),
    ]
    if is_study(run):
        return [*facts, ("Progress", epoch_words(run)), ("Versions", stack)]
    facts += [
        ("Progress", f"fit {run.fit}, epoch {epoch_words(run)}, step {step_words(run)}"),
        ("Model", ", ".join(filter(None, (run.model, run.optimizer))) or "none yet"),
        ("Versions", stack),
        ("Limits", "; ".join(limit_text(limit) for limit in run.limits) or "none"),
    ]
    facts += _job_facts(run)
    if run.checkpoint_bytes is not None:
        number = "" if run.checkpoint_epoch is None else f"of epoch {run.checkpoint_epoch + 1}, "
        facts.append(("Checkpoint", f"{number}state {bytes_text(run.checkpoint_bytes)}"))
    if run.faults or run.gaps:
        facts.append(("Faults", f"{run.faults} of kmonitor's own; {run.gaps} events missing"))
    return facts


def _job_facts(run: RunSummary) -> list[tuple[str, str]]:
    facts = [("Job", run.job)] if run.job else []
    if run.rank is not None:
        facts.append(("Rank", f"{run.rank} of {run.world_size}, group {run.group or 'unknown'}"))
    if run.is_shipped:
        facts.append(("Read from", "a folder; its process cannot be asked from here"))
    if run.is_elsewhere:
        facts.append(("Kept by", "another hub of the team; it cannot be changed from here"))
    return facts


def _say_metrics(run: RunSummary, no_device: str) -> None:
    rows = [
        (
            metric_title(run, metric),
            metric_words(run, metric),
            share_words(metric_of(run, metric)),
            origin_words(run, metric, no_device=no_device),
        )
        for metric in _METRICS
    ]
    headers = ("METRIC", "NOW", "OF WHAT", "FROM, OR WHY NOT")
    say_table(headers, rows, right=headers[1:3], folds=headers[3:])


def _say_events(run: RunSummary, rows: list[Row]) -> None:
    say()
    left_out = overruled([read_event(row) for row in rows])
    for place, row in enumerate(rows):
        words = "" if place in left_out else event_words(row, name=run.name)
        if words:
            say(words)


def _new_row_teller(run: RunSummary, *, json: bool) -> Callable[[Row], None]:
    def tell(row: Row) -> None:
        words = "" if json else event_words(row, name=run.name, epochs=True)
        if json:
            say_json(event_object(row))
        elif words:
            say(words)

    return tell
