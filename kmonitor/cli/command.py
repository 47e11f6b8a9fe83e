"""`kmonitor command`: have something done by a running training, and see what came of it."""

import getpass
from typing import Annotated, Literal, get_args

from cyclopts import Parameter

from kmonitor.cli.event_stream import event_words, read_event
from kmonitor.cli.hub_access import open_hub
from kmonitor.cli.limit_arguments import limits_from
from kmonitor.cli.run_choice import choose_run
from kmonitor.cli.statuses import DONE, FAILED, STILL_WAITING
from kmonitor.cli.terminal import complain, plain, say
from kmonitor.connect.hub_client import HubClient
from kmonitor.errors import Expected
from kmonitor_agent.protocol.commands import (
    FINAL_STATES,
    Arguments,
    CommandName,
    CommandStatus,
    NoArguments,
    SafePoint,
)
from kmonitor_agent.protocol.facts import ActionRecord
from kmonitor_agent.protocol.messages import ENDED_STATES, Row, RunSummary

Action = Literal["save", "collect", "reload", "restart", "pause", "resume", "stop", "set_limits"]


def command(
    run: str,
    action: Action,
    /,
    *limits: str,
    at: Annotated[SafePoint, Parameter(name="--at")] = "epoch",
    wait: Annotated[bool, Parameter(name="--wait", negative="")] = False,
    timeout_s: Annotated[float, Parameter(name="--timeout")] = 600.0,
) -> int:
    """Ask a training to do something at its next safe point.

    For example `kmonitor command last reload --wait`, or
    `kmonitor command last set_limits ram=80%:reload step_time="250 ms" graph=off`

    Exit status: 0 it was done (or, without `--wait`, asked); 1 it failed or was refused;
    3 `--timeout` passed first (the command stays asked).

    Args:
        run: Id, the beginning of an id, name, or `last`.
        action: save: write a checkpoint. collect: free what dead models left behind.
            reload: save, clear and reload, with the same result. pause, resume.
            restart: go on in a new process, with the same result; under `kmonitor run` only.
            stop: end the fit. set_limits: replace limits.
        limits: For set_limits: METRIC=THRESHOLD, METRIC=THRESHOLD:ACTION or METRIC=off, where
            METRIC is ram, vram, graph, step_time or functions and ACTION is notify, save,
            collect, reload or stop.
        at: At the end of the running epoch, or after the running batch.
        wait: Wait until it is done and print the record.
        timeout_s: Longest wait, seconds.
    """
    arguments = _arguments(action, limits, at)
    with open_hub() as client:
        chosen = choose_run(client.runs(), run)
        _see_that_it_can(chosen, action)
        asked_by = _who_asks()
        status = client.command(chosen, action, arguments, asked_by=asked_by)
        if wait and status.state not in FINAL_STATES:
            status = client.wait_for(status, timeout_s=timeout_s)
        return _tell(client, chosen, status, waited=wait)


def _arguments(action: Action, limits: tuple[str, ...], at: SafePoint) -> Arguments:
    if action == "set_limits":
        return limits_from(limits, set_by=_who_asks())
    if limits:
        raise Expected(
            f"{action} takes no further words: {' '.join(limits)}.",
            "Limits are set with: kmonitor command RUN set_limits ram=80%:reload",
        )
    return NoArguments(at=at)


def _see_that_it_can(run: RunSummary, action: CommandName) -> None:
    if run.state in ENDED_STATES:
        raise Expected(
            f'"{plain(run.name)}" has ended ({run.state}); nothing can be asked of it any more.',
            "See the runs that go on with: kmonitor runs",
        )
    if action in run.actions:
        return
    if action == "restart" and run.actions:
        raise Expected(
            f'"{plain(run.name)}" cannot be restarted: kmonitor run did not start it, or its Keras'
            " cannot be taken up by another process.",
            "Start it with: kmonitor run -- python train.py",
        )
    can = ", ".join(run.actions) or "nothing: it was started with commands=False, or is starting"
    raise Expected(f'"{plain(run.name)}" cannot {action} now.', f"It can: {can}.")


def _who_asks() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "command line"


def _tell(client: HubClient, run: RunSummary, status: CommandStatus, *, waited: bool) -> int:
    record = _record_of(client, run, status)
    if record is not None:
        say(event_words(record, name=run.name))
    why = f": {plain(status.why)}" if status.why else ""
    match status.state:
        case "done":
            if record is None:
                say(f"{status.name}: done.")
            return DONE
        case "failed" | "refused" | "expired" | "unknown":
            complain(f"kmonitor: {status.name} {_ENDINGS[status.state]}{why}")
            return FAILED
        case "queued" | "received" | "started":
            if waited:
                complain(f"kmonitor: {status.name} is {status.state}; it will still be done.")
                return STILL_WAITING
            say(f"{status.name}: {status.state}. See what comes of it: kmonitor show {run.run}")
            return DONE


_ENDINGS = {
    "failed": "failed",
    "refused": "was refused",
    "expired": "came too late and was dropped",
    "unknown": "was lost sight of",
}


def _record_of(client: HubClient, run: RunSummary, status: CommandStatus) -> Row | None:
    if status.state not in ("done", "failed"):
        return None
    for row in client.all_rows(run.run, ("action",)):
        event = read_event(row)
        if isinstance(event, ActionRecord) and event.command == status.id:
            return row
    return None


ACTIONS: tuple[Action, ...] = get_args(Action)
"""What may be asked on the command line."""
