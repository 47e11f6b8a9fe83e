"""`kmonitor runs`: the trainings that this user's hub knows; pin and remove them."""

import time
from typing import Annotated

from cyclopts import App, Parameter

from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import FolderOption, HostOption, HubOption, open_hub
from kmonitor.cli.common.run_choice import SHORT_ID, choose_run
from kmonitor.cli.common.statuses import DONE
from kmonitor.cli.common.summary_text import epoch_words, labelled_words
from kmonitor.cli.common.terminal import plain, say, say_json, say_table
from kmonitor.cli.hub.command import say_troubles
from kmonitor.cli.prune import prune
from kmonitor.ui.text.formats import duration_text, moment_text, plain_text
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.unions import RunSummary

_METRICS: tuple[LimitMetric, ...] = ("graph", "ram", "vram", "step_time")


app = App(name="runs", help="List the runs; pin them; remove old ones.")
app.command(prune)


@app.default
def runs(
    *,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    folder: FolderOption = None,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """List the runs, oldest first.

    Example: `kmonitor runs --json | jq '.[] | select(.state == "training") | .name'`

    Args:
        json: One JSON list. Each run has at least `run` (its id), `name`, `host`, `state` and
            `epoch` (from 0; null before the first), and every other field of the summary.
        folder: The runs whose spools lie in this folder, which is only read.
        host: Those of the hub on this host, reached over ssh: `gpu-01`, `user@gpu-01`, or a name
            of `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    with open_hub(host, folder=folder, hub=hub) as client:
        found = sorted(client.runs(), key=lambda run: run.started_wall_s)
        told = client.hub()
    say_troubles(told, is_far=host is not None or hub is not None)
    if json:
        say_json([fields_of(run) for run in found])
    elif found:
        _say_runs(found)
    else:
        say("No runs yet. Put MonitorCallback() among a fit's callbacks, or try: kmonitor demo")
    return DONE


@app.command
def pin(run: str, /, *, host: HostOption = None, hub: HubOption = None) -> int:
    """Keep a run when old ones are removed to save room.

    Args:
        run: Id, the beginning of an id, name, or `last`.
        host: On this host, over ssh: `gpu-01`, `user@gpu-01`, or a name of `kmonitor hosts`.
        hub: At this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    return _pin(run, host, hub, is_pinned=True)


@app.command
def unpin(run: str, /, *, host: HostOption = None, hub: HubOption = None) -> int:
    """Treat a run as any other when old ones are removed.

    Args:
        run: Id, the beginning of an id, name, or `last`.
        host: On this host, over ssh: `gpu-01`, `user@gpu-01`, or a name of `kmonitor hosts`.
        hub: At this address, as its operator: tcp://HOST:PORT?key=KEY.
    """
    return _pin(run, host, hub, is_pinned=False)


def _pin(wanted: str, host: str | None, hub: str | None, *, is_pinned: bool) -> int:
    with open_hub(host, hub=hub) as client:
        chosen = choose_run(client.runs(), wanted)
        client.edit(chosen.run, pin=is_pinned)
    say(plain(f"{chosen.name} ({chosen.run[:SHORT_ID]}) is {'' if is_pinned else 'not '}pinned."))
    return DONE


def _name(run: RunSummary) -> str:
    rank = "" if run.rank is None else f" (rank {run.rank} of {run.world_size})"
    return f"{run.name}{rank}{' (pinned)' if run.pinned else ''}"


def _state(run: RunSummary, now_wall_s: float) -> str:
    if run.stalled_wall_s is not None:
        quiet = plain_text(duration_text(now_wall_s - run.stalled_wall_s))
        return f"{run.state}, no step for {quiet}"
    return f"{run.state}: {run.cause}" if run.cause else run.state


def _say_runs(found: list[RunSummary]) -> None:
    now = time.time()
    headers = ("RUN", "NAME", "HOST", "STATE", "EPOCH", "GRAPH", "RAM", "VRAM", "STEP")
    rows = [
        (
            run.run[:SHORT_ID],
            _name(run),
            run.host,
            _state(run, now),
            epoch_words(run),
            *(labelled_words(run, metric) for metric in _METRICS),
            plain_text(moment_text(run.started_wall_s, now_wall_s=now)),
            plain_text(duration_text(run.duration_s)),
        )
        for run in found
    ]
    right = ("EPOCH", "GRAPH", "RAM", "VRAM", "STEP", "RAN")
    say_table(
        (*headers, "STARTED", "RAN"),
        rows,
        right=right,
        folds=("HOST", "STATE"),
        elided="NAME",
        drops=("HOST", "STARTED", "RAN", "VRAM", "STEP"),
    )
