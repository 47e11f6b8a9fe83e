"""Sections of `kmonitor show`: verdicts, training metrics, epochs, end of the run, and study."""

import math
import time
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from kmonitor.cli.common.summary_text import metric_title
from kmonitor.cli.common.terminal import (
    pluralized,
    print_table,
    print_text,
    terminal_lines,
    terminal_safe,
    text_cells,
)
from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.export.events import decode_row
from kmonitor.ui.charts.chart_kinds import better_direction
from kmonitor.ui.events.run_end import (
    LAST_MINUTE_COLUMNS,
    LastMinute,
    last_minute_start_s,
    newest_values,
    read_last_minute,
    run_end_state,
)
from kmonitor.ui.runs.readings import RESOURCE_COLUMNS, RunReadings
from kmonitor.ui.runs.run_states import error_sentence, has_ended, has_ended_badly
from kmonitor.ui.runs.step_times import (
    has_few_slow_steps,
    slow_steps_advice_text,
    slow_steps_text,
    step_times_text,
)
from kmonitor.ui.studies.folds import attempts_by_fold
from kmonitor.ui.studies.study_page import study_state
from kmonitor.ui.studies.study_store import StudyRecord, folds_of, is_search
from kmonitor.ui.text.formats import (
    NOT_KNOWN,
    count_text,
    number_text,
    seconds_text,
    with_plain_spaces,
)
from kmonitor.ui.verdicts.evidence import advice_on_next_run
from kmonitor.ui.verdicts.forecast_text import forecast_text
from kmonitor.ui.verdicts.kept_text import is_about_full_place
from kmonitor.ui.verdicts.verdict_text import (
    advice_of,
    evidence_lines,
    is_said,
    verdict_headline,
)
from kmonitor_agent.wire.messages.events import EpochEnded, FieldSources, GraphSize, Verdict
from kmonitor_agent.wire.messages.unions import EventRow, RunSummary, VerdictsReply
from kmonitor_agent.wire.messages.verdict_events import RECENT_UNITS


def verdicts_of(client: HubClient, run: RunSummary) -> VerdictsReply:
    """Verdicts of a run; none if no epoch has ended, or the hub is too old for verdicts."""
    try:
        return client.verdicts_so_far(run.run)
    except HubRefused:
        return VerdictsReply(request_id=0, run=run.run)


def print_verdicts(run: RunSummary, reply: VerdictsReply) -> None:
    """Print verdicts with their evidence; nothing if there is none, and none is to come."""
    if not reply.verdicts and not reply.unread:
        return
    print_text()
    if reply.unread:
        known = "as stored so far" if reply.verdicts else "none stored so far"
        text = f"{known}; {count_text(reply.unread)} samples are being read: try again in a minute"
        _print_verdict_line("Verdicts", text)
    ruled_out: list[list[str]] = []
    for verdict in filter(is_said, reply.verdicts):
        # The table above names the allocator's device; there is no room for it here.
        title = metric_title(run, verdict.metric).partition(" (")[0]
        _print_verdict_line(title, _headline(run, verdict, ruled_out))
        is_open = verdict.state == "measuring" and verdict.slope is not None
        is_detailed = is_open or verdict.state in {"growing", "suspected", "slowing"}
        is_detailed = is_detailed or is_about_full_place(verdict)
        if is_detailed or verdict.advice or verdict.forecast:
            for line in _detail_lines(run, verdict):
                _print_verdict_line("", line)


def _headline(run: RunSummary, verdict: Verdict, ruled_out: list[list[str]]) -> str:
    """Headline; the same causes are ruled out by a verdict further up only once.

    Args:
        ruled_out: Causes that each verdict so far rules out; those of this one are added.
    """
    is_known = verdict.ruled_out in ruled_out
    ruled_out.append(verdict.ruled_out)
    if not verdict.ruled_out or not is_known:
        return verdict_headline(verdict, is_final=has_ended(run))
    text = verdict_headline(replace(verdict, ruled_out=[]), is_final=has_ended(run))
    return f"{text}; ruled out: as above"


def _detail_lines(run: RunSummary, verdict: Verdict) -> list[str]:
    lines = evidence_lines(verdict)
    lines.append(forecast_text(run, verdict, now_wall_s=time.time()))
    advice = [
        f"{each.text} (kmonitor command {run.run[:8]} {each.command})"
        if each.command
        else each.text
        for each in advice_of(verdict, run.backend)
        if each.command is None or each.command in run.actions
    ]
    advice += advice_on_next_run(run, verdict)
    if advice:
        lines.append(f"What may help: {'; '.join(advice)}")
    return [line for line in lines if line]


_TITLE_CELLS = 12


def _print_verdict_line(title: str, text: str) -> None:
    if text_cells(title) >= _TITLE_CELLS:
        print_text(terminal_lines(f"{title} {text}", indent=_TITLE_CELLS))
        return
    lines = terminal_lines(text, indent=_TITLE_CELLS)
    print_text(f"{title:<{_TITLE_CELLS - 1}} {lines}")


def print_resources(client: HubClient, run: RunSummary, sources: Iterable[FieldSources]) -> None:
    """Print the last readings of bounded resources; nothing if none were read.

    Args:
        sources: `sources` events of the run, in order.
    """
    readings = RunReadings()
    for event in sources:
        readings.apply_sources(event)
    try:
        reply = client.series(
            run.run, RESOURCE_COLUMNS, from_s=last_minute_start_s(run), buckets=4000
        )
    except HubRefused:
        return
    for name, value in newest_values(reply).items():
        readings.apply_value(name, value, run.duration_s)
    rows = [
        (row.title, row.value, row.whole, row.tooltip.rpartition("\n")[2])
        for row in readings.resources()
    ]
    if rows:
        headers = ("RESOURCE", "NOW", "OF", "FROM")
        print_text()
        print_table(headers, rows, right=headers[1:3], folds=headers[3:])


_RATE = "learning_rate"


def print_training(rows: Iterable[EventRow]) -> None:
    """Print each Keras log and the learning rate; nothing if no epoch has ended."""
    ended = [event for event in map(decode_row, rows) if isinstance(event, EpochEnded)]
    names = dict.fromkeys(name for event in ended for name in event.logs)
    lines = [
        _training_row(name, [(each, each.logs.get(name)) for each in ended]) for name in names
    ]
    if any(event.learning_rate is not None for event in ended) and _RATE not in names:
        lines.append(_training_row(_RATE, [(each, each.learning_rate) for each in ended]))
    if lines:
        headers = ("TRAINING", "LAST", "BEST", "IN")
        print_text()
        print_table(headers, lines, right=headers[1:3])


def _training_row(
    name: str, values: list[tuple[EpochEnded, float | None]]
) -> tuple[str, str, str, str]:
    known = [(event, value) for event, value in values if value is not None]
    finite = [(value, event) for event, value in known if math.isfinite(value)]
    last = with_plain_spaces(number_text(known[-1][1]))
    which = better_direction(name)
    if which is None or not finite:
        return terminal_safe(name), last, NOT_KNOWN, ""
    pick = min if which == "lower" else max
    best, event = pick(finite, key=lambda pair: pair[0])
    several = len({each.fit for each, _ in values}) > 1
    best_epoch = (
        f"fit {event.fit}, epoch {event.epoch + 1}" if several else f"epoch {event.epoch + 1}"
    )
    return terminal_safe(name), last, with_plain_spaces(number_text(best)), best_epoch


def print_step_times(rows: Iterable[EventRow]) -> None:
    """Print the step times of the last epoch, and the newest slow steps of recent epochs.

    Nothing is printed if the last epoch's were not measured. Slow steps, as by a garbage
    collection, need not come in each epoch.
    """
    ended = [event for event in map(decode_row, rows) if isinstance(event, EpochEnded)]
    if not ended or ended[-1].step_times is None:
        return
    times = ended[-1].step_times
    print_text()
    _print_verdict_line("Steps", step_times_text(times))
    recent = [event for event in ended[-RECENT_UNITS:] if event.fit == ended[-1].fit]
    slow = next(filter(_has_slow_steps, reversed(recent)), None)
    if slow is None or slow.step_times is None:
        return
    where = "" if slow is ended[-1] else f"Epoch {slow.epoch + 1}: "
    _print_verdict_line("", f"{where}{slow_steps_text(slow.step_times, slow.parts)}")
    if advice := slow_steps_advice_text(slow.step_times):
        _print_verdict_line("", f"What may help: {advice}")


def _has_slow_steps(event: EpochEnded) -> bool:
    return event.step_times is not None and has_few_slow_steps(event.step_times)


EPOCHS_SHOWN = 30
"""Number of newest epochs in the table; `kmonitor export` has all."""

LOGS_SHOWN = 4
"""Most logs and metrics of an epoch with a column."""


def print_epochs(rows: Iterable[EventRow]) -> None:
    """Print the newest epochs; nothing if none has ended."""
    ended, graphs = _ended_epochs(rows)
    if not ended:
        return
    shown = ended[-EPOCHS_SHOWN:]
    names = _log_names(shown)
    right = ("FIT", "EPOCH", "STEPS", "TIME", "STEP", "GRAPH", "FUNCTIONS", *names)
    print_text()
    print_table(right, [_epoch_cells(event, graphs, names) for event in shown], right=right)
    if len(shown) < len(ended):
        earlier = pluralized(len(ended) - len(shown), "earlier epoch")
        print_text(f"({earlier}: kmonitor export RUN --format csv)")


def _ended_epochs(
    rows: Iterable[EventRow],
) -> tuple[list[EpochEnded], dict[tuple[int, int], GraphSize]]:
    events = [event for event in map(decode_row, rows) if event is not None]
    ended = [event for event in events if isinstance(event, EpochEnded)]
    graphs: dict[tuple[int, int], GraphSize] = {}
    for event in events:
        if isinstance(event, GraphSize):
            # The largest of an epoch: a reload at its end has a record of its own.
            key = event.fit, event.epoch
            graphs[key] = max(event, graphs.get(key, event), key=lambda size: size.operations)
    return ended, graphs


def _log_names(events: list[EpochEnded]) -> list[str]:
    names = dict.fromkeys(name for event in events for name in event.logs)
    return list(names)[:LOGS_SHOWN]


def _epoch_cells(
    event: EpochEnded, graphs: dict[tuple[int, int], GraphSize], names: list[str]
) -> list[str]:
    graph = graphs.get((event.fit, event.epoch))
    step = event.step_times
    cells = [
        str(event.fit),
        str(event.epoch + 1),
        count_text(event.steps),
        seconds_text(event.seconds),
        seconds_text(step.step_s) if step else NOT_KNOWN,
        count_text(graph.operations) if graph else NOT_KNOWN,
        count_text(graph.functions) if graph else NOT_KNOWN,
        *(number_text(event.logs[n]) if n in event.logs else NOT_KNOWN for n in names),
    ]
    return [with_plain_spaces(cell) for cell in cells]


def print_end(client: HubClient, run: RunSummary) -> None:
    """Print the last minute of a run that ended badly; nothing for others."""
    if not has_ended_badly(run):
        return
    state = run_end_state(run, _last_minute(client, run), now_wall_s=time.time())
    if state.lines:
        print_text()
        print_text("Before it ended:")
        for line in state.lines:
            print_text(f"  {terminal_lines(line, indent=2)}")
    if error_sentence(run.state_why) != run.state_why:
        print_text()
        print_text("Full error:")
        for line in run.state_why.splitlines():
            print_text(f"  {terminal_lines(line, indent=2)}")


def _last_minute(client: HubClient, run: RunSummary) -> LastMinute | None:
    try:
        reply = client.series(
            run.run, LAST_MINUTE_COLUMNS, from_s=last_minute_start_s(run), buckets=4000
        )
    except HubRefused:
        return None
    return read_last_minute(reply)


_STUDY_HEADERS = ("TRY", "STATE", "TIME", "STEPS", "RAM PEAK", "GROWTH", "VRAM PEAK", "WHY")
_STUDY_NUMBERS = ("STEPS", "RAM PEAK", "GROWTH", "VRAM PEAK")


def print_study(study: RunSummary, rows: Iterable[EventRow], runs: Collection[RunSummary]) -> None:
    """Print the progress of a study and its attempts.

    Args:
        study: The study's own run.
        rows: Events of that run.
        runs: All runs of the hub, including those of the folds.
    """
    record = StudyRecord()
    for row in rows:
        event = decode_row(row)
        if event is not None:
            record.apply_event(row, event)
    now_wall_s = study.last_wall_s if has_ended(study) else time.time()
    tries = attempts_by_fold(study, record, folds_of(study, runs), now_wall_s=now_wall_s)
    state = study_state(study, record, tries, now_wall_s=now_wall_s)
    for text in (state.lead, state.forecast, state.facts):
        if text:
            print_text(terminal_lines(text, indent=0))
    print_text()
    cells = (
        [terminal_safe(with_plain_spaces(cell)) or NOT_KNOWN for cell in row.cells[:-1]]
        + [terminal_safe(row.cells[-1])]
        for row in state.rows
    )
    noun = "TRIAL" if is_search(study) else "FOLD"
    print_table((noun, *_STUDY_HEADERS), cells, right=(noun, *_STUDY_NUMBERS), folds=("WHY",))
