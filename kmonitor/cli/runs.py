"""`kmonitor runs`: lists the runs that a hub knows, pins them, and removes old ones."""

import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Final

from cyclopts import App, Parameter
from cyclopts.validators import Number

from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import (
    FolderOption,
    HostOption,
    HubOption,
    HubRoute,
    open_hub,
    print_hub_problems,
)
from kmonitor.cli.common.hub_poller import HubPoller
from kmonitor.cli.common.options import JsonOption, bytes_from, seconds_from
from kmonitor.cli.common.run_choice import NO_RUNS, SHORT_ID, choose_run, remembered_text
from kmonitor.cli.common.run_list import RunSort, StateFilter, has_state, sorted_runs
from kmonitor.cli.common.summary_text import (
    METRICS,
    labelled_text,
    run_epoch_text,
    worst_verdict_text,
)
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    UsageError,
    clear_screen,
    is_confirmed,
    pluralized,
    print_json,
    print_stderr,
    print_table,
    print_text,
    size_text,
    terminal_safe,
)
from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.ui.text.formats import clock_text, duration_text, moment_text, with_plain_spaces
from kmonitor_agent.wire.messages.unions import ENDED_STATES, RunSummary

app = App(name="runs")


@app.default
def runs(  # noqa: PLR0913 - the user's options
    *,
    state: Annotated[tuple[StateFilter, ...], Parameter(name="--state", negative="")] = (),
    sort: Annotated[RunSort, Parameter(name="--sort")] = "started",
    limit: Annotated[int | None, Parameter(name="--limit", validator=Number(gte=1))] = None,
    since: Annotated[str | None, Parameter(name="--since")] = None,
    watch: Annotated[bool, Parameter(name=("--watch", "-w"), negative="")] = False,
    json: JsonOption = False,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """List the runs, newest first.

    Example: `kmonitor runs --state live --sort ram`

    Args:
        state: Only runs in this state; `live` and `ended` each stand for several states. May be
            repeated.
        sort: Largest first; names and states alphabetically.
        limit: Show only the first runs in sort order, at most this many.
        since: Only runs whose last event is no older than this: `30m`, `12h`, `7d`; a bare number
            means days.
        watch: List them again whenever something changes, until Ctrl+C. With `--json`: one line
            for each run that is new or has changed.
        json: One JSON list. Each run has every field of the summary, such as `run` (its ID),
            `name`, `host`, `state` and `epoch` (counted from 0; null before the first).
        folder: Only the runs in this folder, which is opened read-only.
        host: List the runs of the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or
            a name from `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    age_s = None if since is None else seconds_from(since, "--since")
    order = partial(_ordered, state=state, sort=sort, limit=limit, age_s=age_s)
    if watch:
        return _watch(HubRoute(host, folder, hub), order, json=json)
    with open_hub(host, folder=folder, hub=hub) as client:
        found = client.runs()
        reply = client.hub()
    print_hub_problems(reply, is_far=host is not None or hub is not None)
    shown = order(found)
    if json:
        print_json([fields_of(run) for run in shown])
    elif shown:
        _print_runs(shown)
    else:
        print_text(_NO_SUCH_RUNS if found else NO_RUNS)
        if not found and host is None and (remembered := remembered_text()):
            print_text(f"{remembered}\nAll at once: kmonitor top")
    return DONE


_NO_SUCH_RUNS: Final = "No run matches these options."


def _ordered(
    found: Iterable[RunSummary],
    *,
    state: tuple[StateFilter, ...],
    sort: RunSort,
    limit: int | None,
    age_s: float | None,
) -> list[RunSummary]:
    begin_wall_s = 0.0 if age_s is None else time.time() - age_s
    wanted = (run for run in found if has_state(run, state) and run.last_wall_s >= begin_wall_s)
    return sorted_runs(wanted, sort)[:limit]


def _watch(
    route: HubRoute, order: Callable[[Iterable[RunSummary]], list[RunSummary]], *, json: bool
) -> int:
    if not (json or sys.stdout.isatty()):
        raise UsageError("--watch needs a terminal.", "To write to a file or pipe, add --json")
    is_new = threading.Event()
    poller = HubPoller(route, is_new.set)
    printed: dict[str, RunSummary] = {}
    poller.start()
    try:
        while True:
            is_new.wait()
            is_new.clear()
            if poller.failure is not None:
                raise poller.failure
            found = order(poller.runs)
            if not json:
                clear_screen()
                _print_runs(found)
                print_text(terminal_safe(poller.trouble or _watch_footer(len(found))))
                continue
            for run in found:
                if run.run not in printed or run.change != printed[run.run].change:
                    print_json(fields_of(run))
            printed |= {run.run: run for run in found}
    finally:
        poller.stop()


def _watch_footer(n: int) -> str:
    return f"{pluralized(n, 'run')} at {clock_text(time.time())}; press Ctrl+C to stop."


def _print_runs(found: list[RunSummary]) -> None:
    now_wall_s = time.time()
    verdicts = {run.run: worst_verdict_text(run) for run in found}
    has_verdicts = any(verdicts.values())
    rows = [
        (
            run.run[:SHORT_ID],
            _name(run),
            _host(run),
            _state(run, now_wall_s),
            *([verdicts[run.run]] if has_verdicts else []),
            run_epoch_text(run),
            *(labelled_text(run, metric) for metric in METRICS),
            with_plain_spaces(moment_text(run.started_wall_s, now_wall_s=now_wall_s)),
            with_plain_spaces(duration_text(run.duration_s)),
        )
        for run in found
    ]
    numbers = ("EPOCH", "GRAPH", "RAM", "VRAM", "STEP")
    verdict = ("VERDICT",) if has_verdicts else ()
    print_table(
        ("RUN", "NAME", "HOST", "STATE", *verdict, *numbers, "STARTED", "RAN"),
        rows,
        right=(*numbers, "RAN"),
        folds=("HOST", "STATE", *verdict),
        elided="NAME",
        drops=("HOST", "STARTED", "RAN", "VRAM", "STEP", "GRAPH", "EPOCH"),
    )


def _name(run: RunSummary) -> str:
    rank = "" if run.rank is None else f" (rank {run.rank} of {run.world_size})"
    return f"{run.name}{rank}{' (pinned)' if run.pinned else ''}"


def _host(run: RunSummary) -> str:
    if not run.clock_ahead_s:
        return run.host
    ahead = with_plain_spaces(duration_text(run.clock_ahead_s))
    return f"{run.host} (its clock is {ahead} ahead)"


def _state(run: RunSummary, now_wall_s: float) -> str:
    if run.stalled_wall_s is not None:
        stalled_text = with_plain_spaces(duration_text(now_wall_s - run.stalled_wall_s))
        return f"{run.state}, no step for {stalled_text}"
    return f"{run.state}: {run.cause}" if run.cause else run.state


@app.command
def pin(run: str, /, *, host: HostOption = None, hub: HubOption = None) -> int:
    """Keep a run when old runs are removed to save space.

    Example: `kmonitor runs pin last`

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        host: Use the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name from
            `kmonitor hosts`.
        hub: Use the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    return _pin(run, host, hub, is_pinned=True)


@app.command
def unpin(run: str, /, *, host: HostOption = None, hub: HubOption = None) -> int:
    """Unpin a run: it may be removed again when old runs are removed to save space.

    Example: `kmonitor runs unpin last`

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        host: Use the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name
            from `kmonitor hosts`.
        hub: Use the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    return _pin(run, host, hub, is_pinned=False)


def _pin(wanted: str, host: str | None, hub: str | None, *, is_pinned: bool) -> int:
    with open_hub(host, hub=hub) as client:
        chosen = choose_run(client.runs(), wanted)
        client.edit(chosen.run, pin=is_pinned)
    print_text(
        terminal_safe(
            f"{chosen.name} ({chosen.run[:SHORT_ID]}) is {'' if is_pinned else 'not '}pinned."
        )
    )
    return DONE


@app.command
def prune(  # noqa: PLR0913 - the user's options
    *,
    older_than: Annotated[str | None, Parameter(name="--older-than")] = None,
    larger_than: Annotated[str | None, Parameter(name="--larger-than")] = None,
    dry_run: Annotated[bool, Parameter(name="--dry-run", negative="")] = False,
    json: JsonOption = False,
    yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="")] = False,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """List old or large ended runs, and remove them from a hub's history after confirmation.

    Pinned runs (`kmonitor runs pin`) and live ones stay. Checkpoints and spools stay too.

    Example: `kmonitor runs prune --older-than 30d --dry-run`

    Args:
        older_than: Runs whose last event is older than this: `30d`, `12h`, `8w`; a bare number
            means days.
        larger_than: Runs that use more than this in the hub's database: `500MiB`, `2GB`. If both
            options are given, a run must meet both.
        dry_run: Only list them.
        json: One JSON list of the runs, in the format of `kmonitor runs --json`, instead of the
            table.
        yes: Do not ask for confirmation.
        host: Use the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name
            from `kmonitor hosts`.
        hub: Use the hub at this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    if older_than is None and larger_than is None:
        raise UsageError("No runs selected. Use --older-than 30d, --larger-than 1GiB, or both.")
    age_s = 0.0 if older_than is None else seconds_from(older_than, "--older-than")
    n_bytes = 0 if larger_than is None else bytes_from(larger_than, "--larger-than")
    with open_hub(host, hub=hub) as client:
        found = runs_to_remove(client.runs(), age_s=age_s, n_bytes=n_bytes, now_wall_s=time.time())
        if json:
            print_json([fields_of(run) for run in found])
        elif found:
            _print_old_runs(found)
        if not found:
            _say("No ended runs are that old or that large.", json=json)
            return DONE
        if dry_run:
            return DONE
        if not (yes or is_confirmed("Remove them?", "To remove them: add --yes")):
            _say("Nothing was removed.", json=json)
            return FAILED
        refused = _remove(client, found)
    _say(f"{pluralized(len(found) - refused, 'run')} removed.", json=json)
    return FAILED if refused else DONE


def _remove(client: HubClient, found: list[RunSummary]) -> int:
    """Remove runs; return the number of refusals, whose reasons go to standard error."""
    refused = 0
    for run in found:
        try:
            client.edit(run.run, delete=True)
        except HubRefused as exc:
            refused += 1
            print_stderr(terminal_safe(f"kmonitor: {run.name} ({run.run[:SHORT_ID]}): {exc.text}"))
    return refused


_ABANDONED_S: Final = 3600.0
"""Age, seconds, of a silent run with invisible process for its removal; the hub decides."""


def runs_to_remove(
    runs: list[RunSummary], *, age_s: float, n_bytes: int, now_wall_s: float
) -> list[RunSummary]:
    """Return the removable runs that are old and large enough, the oldest first.

    Args:
        runs: All runs.
        age_s: Least time since the last event, seconds.
        n_bytes: Size above which a run is large, bytes.
        now_wall_s: Now, UTC epoch seconds.
    """
    found = [
        run
        for run in runs
        if not run.pinned
        and _is_over(run, now_wall_s)
        and now_wall_s - run.last_wall_s >= age_s
        and run.stored_bytes >= n_bytes
    ]
    return sorted(found, key=lambda run: run.last_wall_s)


def _is_over(run: RunSummary, now_wall_s: float) -> bool:
    if run.state in ENDED_STATES:
        return True
    return run.state == "silent" and now_wall_s - run.last_wall_s > _ABANDONED_S


def _say(text: str, *, json: bool) -> None:
    # Standard output has one JSON document, and nothing else.
    (print_stderr if json else print_text)(text)


def _print_old_runs(found: list[RunSummary]) -> None:
    now_wall_s = time.time()
    rows = [
        (
            run.run[:SHORT_ID],
            run.name,
            run.host,
            run.state,
            with_plain_spaces(moment_text(run.last_wall_s, now_wall_s=now_wall_s)),
            size_text(run.stored_bytes),
        )
        for run in found
    ]
    headers = ("RUN", "NAME", "HOST", "STATE", "LAST EVENT", "ABOUT")
    print_table(headers, rows, right=("ABOUT",), folds=("NAME", "HOST"))
    total = size_text(sum(run.stored_bytes for run in found))
    print_text(f"{pluralized(len(found), 'run')}, about {total} in total")
