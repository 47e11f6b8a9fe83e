"""`kmonitor show`: one run as text: summary, metrics, verdicts, epochs and events.

With `--follow`, `EventFollower` prints events as they are stored, and reconnects when the route
to the hub is lost.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.event_text import EpochMemory, event_text
from kmonitor.cli.common.hub_access import (
    ROUTE_LOST,
    FolderOption,
    HostOption,
    HubOption,
    HubRoute,
)
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.summary_text import (
    METRICS,
    calls_text,
    device_absence,
    field_absences,
    metric_title,
    origin_text,
    run_epoch_text,
    run_state_text,
    share_text,
    step_text,
    summary_metric,
    summary_metric_text,
)
from kmonitor.cli.common.terminal import (
    DONE,
    ENDED_BADLY,
    print_json,
    print_stderr,
    print_table,
    print_text,
    terminal_lines,
    terminal_safe,
)
from kmonitor.cli.show.event_list import ModelFilter, print_events
from kmonitor.cli.show.sections import (
    print_end,
    print_epochs,
    print_resources,
    print_step_times,
    print_study,
    print_training,
    print_verdicts,
    verdicts_of,
)
from kmonitor.cli.show.time_parts import print_parts
from kmonitor.connect.host_errors import HostError
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import decode_row, event_object
from kmonitor.ui.limits.limit_text import limit_summary
from kmonitor.ui.runs.run_states import has_ended_badly, stall_advice
from kmonitor.ui.studies.study_store import STUDY_KINDS, is_study
from kmonitor.ui.text.formats import bytes_text, duration_text, moment_text
from kmonitor.ui.text.metrics import is_on_host
from kmonitor_agent.wire.messages.events import FieldSources, Sample
from kmonitor_agent.wire.messages.unions import ENDED_STATES, EventRow, RunSummary

_MAIN_KINDS = ("session", "session_end", "model", "fit_start", "fit_end", "epoch_end", "graph")
_DONE = ("action", "diagnosis")
_OTHER_KINDS = (
    "session_died",
    "command",
    "limits",
    "crossing",
    "paused",
    "fault",
    "notice",
    "lost",
)
_JUDGED = ("verdict",)
_KINDS = (*_MAIN_KINDS, *_DONE, *_OTHER_KINDS, *_JUDGED, *STUDY_KINDS)
"""All event types except samples, which are for charts and `kmonitor export`."""


def show(
    run: str,
    /,
    *,
    json: JsonOption = False,
    follow_it: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Show one run: state, metrics with verdicts, epochs, and events.

    Example: `kmonitor show last --follow`

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        json: One JSON object: `summary`, `verdicts` and `events`; with `--follow`, one event per
            line.
        follow_it: Print new events, and RAM, VRAM, graph size and step time at the end of each
            epoch, until the run ends or you press Ctrl+C. If the connection to the hub is lost,
            the command waits for the hub to come back. Exit status: 5 if the run failed, was
            interrupted, or was lost.
        folder: Use the runs in this folder, which is opened read-only.
        host: Ask the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name from
            `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    route = HubRoute(host, folder, hub)
    follower: EventFollower | None = None
    try:
        with route.open() as client:
            chosen = choose_run(client.runs(), run)
            rows = list(client.all_rows(chosen.run, _KINDS))
            if follow_it:  # from here on a hub that is lost is waited for
                print_new_row = _new_row_printer(chosen, rows, json=json)
                follower = EventFollower(chosen.run, rows, _FOLLOWED_KINDS, print_new_row)
            if json:
                _print_as_json(client, chosen, rows, as_lines=follow_it)
            else:
                _print_as_text(client, chosen, rows)
            if follower is not None:
                follower.follow(client)
    except ROUTE_LOST as exc:
        if follower is None:
            raise
        follower.follow_over(route, exc)
    return DONE if follower is None else _end_status(follower.summary)


def _end_status(run: RunSummary | None) -> int:
    if run is None or not has_ended_badly(run):
        return DONE
    print_stderr(f"kmonitor: {terminal_safe(f'{run.name}: {run_state_text(run)}.')}")
    return ENDED_BADLY


def _print_as_json(
    client: HubClient, run: RunSummary, rows: list[EventRow], *, as_lines: bool
) -> None:
    events = [event_object(row) for row in rows]
    if not as_lines:
        reply = verdicts_of(client, run)
        verdicts = [fields_of(verdict) for verdict in reply.verdicts]
        found = {"summary": fields_of(run), "verdicts": verdicts, "events": events}
        print_json(found | ({"unread_samples": reply.unread} if reply.unread else {}))
        return
    for event in events:
        print_json(event)


def _print_as_text(client: HubClient, run: RunSummary, rows: list[EventRow]) -> None:
    for title, text in _facts(run):
        print_text(f"{title:<12} {terminal_lines(text, indent=13)}")
    print_text()
    if is_study(run):
        print_study(run, rows, client.runs())
        print_text()
        print_events(rows, run.name)
        return
    sources = _sources(client, run)
    _print_metrics(run, device_absence(sources))
    reply = verdicts_of(client, run)
    print_verdicts(run, reply)
    print_step_times(rows)
    print_parts(rows, field_absences(sources, "parts.input_s"), reply.verdicts)
    print_training(rows)
    print_resources(client, run, sources)
    print_epochs(rows)
    print_end(client, run)
    print_text()
    print_events(rows, run.name)


def _facts(run: RunSummary) -> list[tuple[str, str]]:
    stack = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    started = moment_text(run.started_wall_s, now_wall_s=time.time())
    facts = [
        ("Run", f"{run.name}  ({run.run})"),
        ("Where", f"{run.host}, process {run.pid}"),
        ("State", run_state_text(run)),
        *([("Advice", advice)] if (advice := stall_advice(run)) else []),
        ("Started", f"{started}, ran {duration_text(run.duration_s)}"),
    ]
    if is_study(run):
        return [*facts, ("Progress", run_epoch_text(run)), ("Versions", stack)]
    facts += [
        ("Progress", progress_text(run)),
        ("Model", ", ".join(filter(None, (run.model, run.optimizer))) or "none yet"),
        ("Versions", stack),
        ("Limits", "; ".join(limit_summary(limit) for limit in run.limits) or "none"),
    ]
    facts += _job_facts(run)
    if run.checkpoint_bytes is not None:
        number = "" if run.checkpoint_epoch is None else f"of epoch {run.checkpoint_epoch + 1}, "
        facts.append(("Checkpoint", f"{number}state {bytes_text(run.checkpoint_bytes)}"))
    if run.faults or run.gaps:
        facts.append(("Errors", f"{run.faults} in kmonitor itself; {run.gaps} events missing"))
    return facts


def progress_text(run: RunSummary) -> str:
    """Last fit with its epoch and step, or the calls of a run that has no fit."""
    if not run.fit:
        return calls_text(run) or "no fit yet"
    return f"fit {run.fit}, epoch {run_epoch_text(run)}, step {step_text(run)}"


def _job_facts(run: RunSummary) -> list[tuple[str, str]]:
    facts = [("Job", run.job)] if run.job else []
    if run.rank is not None:
        facts.append(("Rank", f"{run.rank} of {run.world_size}, group {run.group or 'unknown'}"))
    if run.is_shipped:
        facts.append(("Read from", "a folder; commands cannot be sent to its process"))
    if run.is_elsewhere:
        facts.append(("Kept by", "another of the team's hubs; it cannot be changed from here"))
    return facts


def _print_metrics(run: RunSummary, no_device: str) -> None:
    rows = [
        (
            metric_title(run, metric),
            summary_metric_text(run, metric),
            share_text(summary_metric(run, metric)),
            origin_text(run, metric, no_device=no_device),
        )
        for metric in METRICS
    ]
    headers = ("METRIC", "NOW", "OF TOTAL", "SOURCE, OR WHY MISSING")
    print_table(headers, rows, right=headers[1:3], folds=headers[3:])


def _sources(client: HubClient, run: RunSummary) -> list[FieldSources]:
    events = map(decode_row, client.all_rows(run.run, ("sources",)))
    return [event for event in events if isinstance(event, FieldSources)]


_FOLLOWED_KINDS = (*_KINDS, "sample", "sources")


def _new_row_printer(
    run: RunSummary, printed: Sequence[EventRow], *, json: bool
) -> Callable[[EventRow], None]:
    title = "allocator (CPU)" if is_on_host(run, "vram") else "VRAM"
    memory = EpochMemory(run.ram.value, run.vram.value, run.graph.value, title)
    models = ModelFilter()
    for row in printed:
        models.note_event(decode_row(row))

    def print_row(row: EventRow) -> None:
        nonlocal memory
        event = decode_row(row)
        memory = memory.after(event)
        is_repeated = models.note_event(event)
        if json:
            if not isinstance(event, Sample | FieldSources):
                print_json(event_object(row))
        elif not is_repeated and (text := event_text(row, name=run.name, memory=memory)):
            print_text(text)

    return print_row


_POLL_S: Final = 0.5
"""Pause between two requests to the hub, seconds."""

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0

_STOPPED_S: Final = 60.0
"""Longest wait for a new hub after this user's own was stopped on purpose, seconds."""

_SPEAKS_S: Final = 10.0
"""Time within which a live training reaches a restarted hub, seconds."""


class EventFollower:
    """Passes on a run's events as they are stored, each once. For one thread.

    Attributes:
        summary: Last summary from the hub; None before `follow`, or if the run was removed.
    """

    def __init__(
        self,
        run: str,
        rows: Sequence[EventRow],
        kinds: Sequence[str],
        on_row: Callable[[EventRow], None],
    ) -> None:
        """Begin after the rows that are already printed.

        Args:
            run: Run id.
            rows: Rows of the run so far, in order.
            kinds: Event types to pass on.
            on_row: Called with each new row.
        """
        self._run = run
        self._kinds = kinds
        self._on_row = on_row
        self._cursor = rows[-1].row if rows else 0
        self._seq = max((row.seq for row in rows), default=0)
        self._hubs_own = {row.body for row in rows if not row.seq}
        self._hub = ""
        self._is_waiting = False
        self.summary: RunSummary | None = None

    def follow(self, client: HubClient) -> None:
        """Pass on stored events until the run has ended. Raises: see `HubClient`."""
        for row in self._rows(client):
            if row.seq > self._seq or (not row.seq and row.body not in self._hubs_own):
                self._note(row)
                self._on_row(row)

    def follow_over(self, route: HubRoute, lost: UserError) -> None:
        """Continue to follow after the route to the hub was lost, over a new one each time.

        Args:
            lost: Error that ended the route.

        Raises:
            UserError: The error does not go away by waiting.
        """
        pause_s = _FIRST_PAUSE_S
        end_s = float("inf")
        while True:
            if isinstance(lost, HostError) and not lost.is_transient:
                raise lost
            if not self._is_waiting:
                self._is_waiting = True
                pause_s = _FIRST_PAUSE_S
                end_s = time.monotonic() + _STOPPED_S
                _print_waiting(route, lost)
            threading.Event().wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
            if route.is_stopped:
                pause_s = _FIRST_PAUSE_S
                if time.monotonic() > end_s:
                    raise _hub_stopped_error()
                continue
            try:
                with route.open() as client:
                    self.follow(client)
            except ROUTE_LOST as exc:
                lost = exc
            else:
                return

    def _rows(self, client: HubClient) -> Iterator[EventRow]:
        is_first = True
        had_ended = False
        was_waiting = self._is_waiting
        since_s = time.monotonic()
        while True:
            # The state is read before the rows, so that all rows before the end are seen.
            state = self._state(client)
            page = client.rows(cursor=self._cursor, runs=(self._run,), kinds=self._kinds)
            is_other = self._hub not in {"", page.hub}
            if is_first and (is_other or page.head < self._cursor):
                # It numbers rows by itself; the training's own numbers say which are new.
                self._cursor = 0
                is_first = False
                continue
            is_first = False
            self._print_reconnected()
            yield from page.rows
            self._cursor = max(self._cursor, page.cursor)
            # Another hub knows the run as soon as its training, or its spool, has reached it.
            has_ended = state in ENDED_STATES if state else not is_other
            if state == "lost" and was_waiting:
                # A hub that was just started does not know its training yet.
                has_ended = time.monotonic() - since_s > _SPEAKS_S
            self._hub = self._hub or page.hub
            if page.more:
                continue
            # Twice: the state is reported at once, the last rows when they are committed.
            if has_ended and had_ended and not page.rows:
                return
            had_ended = has_ended
            threading.Event().wait(_POLL_S)

    def _state(self, client: HubClient) -> str:
        self.summary = next((found for found in client.runs() if found.run == self._run), None)
        return "" if self.summary is None else self.summary.state

    def _note(self, row: EventRow) -> None:
        self._seq = max(self._seq, row.seq)
        if not row.seq:
            self._hubs_own.add(row.body)

    def _print_reconnected(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            print_stderr("kmonitor: reconnected.")


def _print_waiting(route: HubRoute, lost: UserError) -> None:
    if route.is_stopped:
        print_stderr(f"kmonitor: your hub was stopped. Waiting {_STOPPED_S:g} s for another one.")
    else:
        print_stderr(f"kmonitor: {terminal_safe(lost.what)} Waiting for it; press Ctrl+C to stop.")


def _hub_stopped_error() -> UserError:
    what = f"Your hub was stopped, and no other was started within {_STOPPED_S:g} s."
    return UserError(what, "Run kmonitor show --follow again to start one.")
