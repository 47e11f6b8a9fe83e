"""`kmonitor command`: sends a command to a running training, and prints the result.

Limits are typed as `ram=80%:reload`, `graph=50k` or `vram=off`.
"""

import getpass
import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from kmonitor.base.errors import UserError
from kmonitor.cli.common.event_text import event_text
from kmonitor.cli.common.hub_access import HostOption, HubOption, open_hub
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    STILL_WAITING,
    UsageError,
    print_stderr,
    print_text,
    terminal_safe,
)
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import decode_row
from kmonitor.ui.limits.limit_text import threshold_text
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.text.metrics import metric_name, metric_name_in_sentence
from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.messages.commands import (
    FINAL_STATES,
    LIMIT_METRICS,
    Arguments,
    CommandName,
    CommandStatus,
    LimitMetric,
    LimitSpec,
    PlainArguments,
    ReloadArguments,
    ReloadMode,
    SafePoint,
    SaveArguments,
    SetLimits,
)
from kmonitor_agent.wire.messages.events import ActionRecord, Diagnosis, Notice, SessionStarted
from kmonitor_agent.wire.messages.unions import ENDED_STATES, EventRow, RunSummary


def command(  # noqa: PLR0913 - the user's arguments
    run: str,
    action: CommandName,
    /,
    *limits: str,
    at: Annotated[SafePoint, Parameter(name="--at")] = "epoch",
    wait: Annotated[bool, Parameter(name="--wait", negative="")] = False,
    timeout_s: Annotated[float, Parameter(name="--timeout", validator=Number(gte=0))] = 600.0,
    mode: Annotated[ReloadMode | None, Parameter(name="--mode")] = None,
    export: Annotated[bool, Parameter(name="--export", negative="")] = False,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Ask a training run to perform an action at its next safe point.

    Example: `kmonitor command last set_limits ram=80%:reload step_time="250 ms" graph=off`

    Exit status: 0 if the action was performed (or, without `--wait`, sent); 1 if it failed or was
    refused; 3 if `--timeout` expired first (the command is still pending).

    Args:
        run: A run's ID or name, a prefix of either, or `last`.
        action: save: write a checkpoint. collect: free traces of models that no longer exist.
            reload: save, clear and reload, with the same result. restart: continue in a new
            process, with the same result; only under `kmonitor run`. auto: collect, and reload if
            there is still memory to free. diagnose: report what grows. pause, resume. stop: end
            the fit. set_limits: replace limits.
        limits: For set_limits: METRIC=THRESHOLD[:ACTION] or METRIC=off. METRIC is ram, graph,
            step_time (the median: a few slow steps do not affect it), step_time_mean, _p95, _p99
            or _max, epoch_time or any other metric of `Limit`; THRESHOLD is 80%, 8G (8 GiB), 8GB
            (7.5 GiB), 50k or 250ms; ACTION is notify, save, collect, reload, restart, auto or
            stop.
        at: At the end of the current epoch, or after the current batch.
        wait: Wait until the action is done and print the record.
        timeout_s: Maximum time to wait, in seconds.
        mode: For reload and auto: restore into the existing variables (assign), or recreate them
            if that is safe (recreate).
        export: For save: also write a .keras file beside the checkpoint.
        host: Use the hub on this host, over ssh: `user@gpu-01` or a name from `kmonitor hosts`.
        hub: Ask the hub at this address, tcp://HOST:PORT?key=KEY, instead of your own.
    """
    arguments = _arguments(action, limits, at, mode=mode, export=export)
    with open_hub(host, hub=hub) as client:
        chosen = choose_run(client.runs(), run)
        _require_all(client, chosen, action, arguments)
        status = client.command(chosen, action, arguments, requested_by=requester_name())
        if wait and status.state not in FINAL_STATES:
            status = client.wait_for(status, timeout_s=timeout_s)
        exit_status = _print_outcome(client, chosen, status, waited=wait)
        return _with_limits(exit_status, arguments, limits, waited=wait)


def _arguments(
    action: CommandName,
    limits: tuple[str, ...],
    at: SafePoint,
    *,
    mode: ReloadMode | None,
    export: bool,
) -> Arguments:
    if mode is not None and action not in ("reload", "auto"):
        raise UsageError(
            f"{action} does not accept --mode.", "--mode works only with reload and auto."
        )
    if export and action != "save":
        raise UsageError(f"{action} cannot write a .keras file.", "--export works only with save.")
    if action == "set_limits":
        return limits_from(limits, set_by=requester_name())
    if limits:
        raise UsageError(
            f"Unexpected arguments for {action}: {' '.join(limits)}.",
            "Limits are set with: kmonitor command RUN set_limits ram=80%:reload",
        )
    if mode is not None:
        return ReloadArguments(at=at, mode=mode)
    return SaveArguments(at=at, export=True) if export else PlainArguments(at=at)


def require_available(run: RunSummary, action: CommandName, why: str = "") -> None:
    """Raise a `UserError` if a command cannot be sent to a run now.

    Args:
        action: The command.
        why: Reason that the run's process gave when it began; may be empty.
    """
    if run.state in ENDED_STATES:
        raise UserError(
            f'"{terminal_safe(run.name)}" has ended ({run.state}); it no longer accepts commands.',
            "List the live runs: kmonitor runs",
        )
    if run.is_shipped:
        raise UserError(
            f'"{terminal_safe(run.name)}" was read from a folder: commands cannot be sent to'
            " its process from here.",
            "Send the command on the host where it runs, if a hub is running there.",
        )
    if run.is_elsewhere:
        raise UserError(
            f'"{terminal_safe(run.name)}" belongs to another of the team\'s hubs.',
            f"Use that one: kmonitor command --host {terminal_safe(run.host)} ...",
        )
    if action in run.actions:
        return
    can = (
        ", ".join(run.actions) or "none (it was started with commands=False, or is still starting)"
    )
    because = f": {terminal_safe(why)}" if why else " now."
    raise UserError(
        f'"{terminal_safe(run.name)}" cannot {action}{because}', f"Available actions: {can}."
    )


def _require_all(
    client: HubClient, run: RunSummary, action: CommandName, arguments: Arguments
) -> None:
    """Raise a `UserError` if the run cannot carry out the command, or the action of a limit."""
    require_available(run, action, _why_unavailable(client, run, action))
    for limit in arguments.limits if isinstance(arguments, SetLimits) else ():
        if limit.action != "notify":
            require_available(run, limit.action, _why_unavailable(client, run, limit.action))


def _why_unavailable(client: HubClient, run: RunSummary, action: CommandName) -> str:
    """Reason that the run's newest process gave when it began; empty if none."""
    if action in run.actions or not run.actions:
        return ""
    sessions = [decode_row(row) for row in client.all_rows(run.run, ("session",))]
    newest = next((each for each in reversed(sessions) if isinstance(each, SessionStarted)), None)
    return "" if newest is None else newest.unavailable.get(action, "")


def requester_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "command line"


def _print_outcome(
    client: HubClient, run: RunSummary, status: CommandStatus, *, waited: bool
) -> int:
    result_rows = _outcome_rows(client, run, status) or _in_force(client, run, status)
    for row in result_rows:
        print_text(event_text(row, name=run.name))
    why = f": {terminal_safe(status.why)}" if status.why else ""
    match status.state:
        case "done":
            if not result_rows:
                print_text(f"{status.name}: done.")
            return DONE
        case "failed" | "refused" | "expired" | "unknown":
            print_stderr(f"kmonitor: {status.name} {_ENDINGS[status.state]}{why}")
            return FAILED
        case "queued" | "received" | "started":
            if waited:
                print_stderr(
                    f"kmonitor: {status.name} is {status.state}; the command has not run yet, but "
                    "it will."
                )
                return STILL_WAITING
            print_text(f"{status.name}: {status.state}. Check the result: kmonitor show {run.run}")
            return DONE


def _with_limits(
    exit_status: int, arguments: Arguments, typed: Sequence[str], *, waited: bool
) -> int:
    """Return the exit status; print the parsed limits, unless those in force are printed.

    Also print a note that a limit without an action does not prevent anything.
    """
    if not isinstance(arguments, SetLimits) or exit_status not in (DONE, STILL_WAITING):
        return exit_status
    if not waited or exit_status == STILL_WAITING:
        print_text(f"Requested limits: {requested_text(arguments)}")
    bare = [each for each in typed if ":" not in each and not each.endswith(f"={OFF}")]
    if bare:
        print_text(
            f"Crossing this limit only sends a notification. To act on it: {bare[0]}:reload,"
            " :restart (under kmonitor run) or :stop"
        )
    return exit_status


_ENDINGS = {
    "failed": "failed",
    "refused": "was refused",
    "expired": "arrived too late and was dropped",
    "unknown": "has an unknown result",
}


def _outcome_rows(client: HubClient, run: RunSummary, status: CommandStatus) -> list[EventRow]:
    """Records of the action: one, or one per level of `auto`; for a diagnosis its evidence."""
    if status.state not in ("done", "failed"):
        return []
    result_rows: list[EventRow] = []
    evidence: list[EventRow] = []
    for row in client.all_rows(run.run, ("action", "diagnosis")):
        event = decode_row(row)
        if isinstance(event, Diagnosis):
            evidence = [row]
        elif isinstance(event, ActionRecord) and event.command == status.id:
            result_rows += [*(evidence if event.action == "diagnose" else []), row]
    return result_rows


_IN_FORCE = {"set_limits": "limits", "pause": "paused", "resume": "paused"}


def _in_force(client: HubClient, run: RunSummary, status: CommandStatus) -> list[EventRow]:
    """The setting in force after a command without a record of its own, with its warnings."""
    kind = _IN_FORCE.get(status.name)
    if status.state != "done" or kind is None:
        return []
    found: list[EventRow] = []
    for row in client.all_rows(run.run, (kind, "notice")):
        event = decode_row(row)
        if not isinstance(event, Notice):
            found = [row]
        elif found and event.code == "limit_too_large":
            found.append(row)
    return found


OFF = "off"
"""Used in place of a threshold to remove a metric's limit."""

_EXAMPLE = "For example: kmonitor command last set_limits ram=80%:reload step_time='250 ms'"


def limits_from(assignments: Sequence[str], *, set_by: str) -> SetLimits:
    """Return the arguments of `set_limits`.

    Args:
        assignments: Texts METRIC=THRESHOLD, METRIC=THRESHOLD:ACTION or METRIC=off.
        set_by: User who sets the limits.

    Raises:
        UsageError: There is no limit, or one is invalid.
    """
    if not assignments:
        raise UsageError("set_limits needs at least one limit.", _EXAMPLE)
    metrics: dict[LimitMetric, None] = {}
    limits: list[LimitSpec] = []
    for assignment in assignments:
        metric, spec = _parse_limit(assignment)
        if metric in metrics and (spec is None or _contradicts(metric, spec, limits)):
            raise UsageError(f"The limits on {metric} conflict.", _EXAMPLE)
        metrics[metric] = None
        if spec is not None:
            limits.append(msgspec.structs.replace(spec, set_by=set_by))
    return SetLimits(metrics=list(metrics), limits=limits)


def requested_text(arguments: SetLimits) -> str:
    """Text of the limits with their units: "RAM at most 8 GiB, reload; no limit on VRAM"."""
    limited = {limit.metric for limit in arguments.limits}
    parts = [
        f"{metric_name(limit.metric)} at most {threshold_text(limit)}, {limit.action}"
        for limit in arguments.limits
    ]
    parts += [
        f"no limit on {metric_name_in_sentence(m)}" for m in arguments.metrics if m not in limited
    ]
    return with_plain_spaces("; ".join(parts))


def _contradicts(metric: LimitMetric, spec: LimitSpec, others: Sequence[LimitSpec]) -> bool:
    """True unless the limits are steps: another action at another threshold."""
    same = [each for each in others if each.metric == metric]
    return not same or any(
        each.action == spec.action or (each.value, each.fraction) == (spec.value, spec.fraction)
        for each in same
    )


def _parse_limit(assignment: str) -> tuple[LimitMetric, LimitSpec | None]:
    metric, equals, rest = assignment.partition("=")
    threshold, _, action = rest.partition(":")
    if not equals or metric not in LIMIT_METRICS:
        if meant := _meant_limit(assignment):
            raise UsageError(f'"{assignment}" is not a limit. Did you mean "{meant}"?', _EXAMPLE)
        known = ", ".join(LIMIT_METRICS)
        raise UsageError(
            f'"{assignment}" is not a limit: begin with one of {known} and "=".', _EXAMPLE
        )
    if threshold.strip() == OFF:
        return metric, None
    try:
        limit = Limit(metric, _threshold(threshold), action=action or "notify")
    except (ValueError, TypeError) as exc:
        raise UsageError(f'"{assignment}" is not a limit: {exc}', _EXAMPLE) from exc
    return metric, limit.spec


_OTHER_NAMES: Final = {"mem": "ram", "memory": "ram", "gpu": "vram", "step": "step_time"}
_LIKE_A_LIMIT: Final = re.compile(r"\s*(\w+)\s*(?:[<>=:]=?|\s)\s*(\S.*)")


def _meant_limit(assignment: str) -> str:
    """Correct spelling: "ram=8GB" for "RAM > 8GB"; empty: not known."""
    found = _LIKE_A_LIMIT.fullmatch(assignment)
    name = found[1].casefold() if found else ""
    name = _OTHER_NAMES.get(name, name)
    return f"{name}={found[2]}" if found and name in LIMIT_METRICS else ""


def _threshold(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
