"""Choice of a run by id, beginning of an id, name, or `last`, here or on any known host."""

import difflib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import HOST_S, HOSTS_AT_ONCE, deadline, wait_for_spools
from kmonitor.cli.common.terminal import pluralized, terminal_safe
from kmonitor.connect.host_access import open_tunnel
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.hub_socket import network_hub
from kmonitor.connect.remembered_hosts import HostStore, RememberedHost
from kmonitor.connect.remote_hub import ConnectCancelled
from kmonitor.ui.text.formats import moment_text
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import SCHEME, ipc_endpoint
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.unions import ENDED_STATES, RunSummary

LAST = "last"
"""Name for the run that was started last."""

PINNED = "pinned:"
"""Prefix for the newest pinned run of a name."""

NO_RUNS = "No runs yet. Add MonitorCallback() to the callbacks of fit, or try: kmonitor demo"

_SHOWN_IDS = 8
"""Number of candidates that a message names."""

SHORT_ID = 8
"""Characters of a run id in lists; every command accepts the beginning of an id."""


def remembered_text() -> str:
    """Advice for finding runs of remembered hosts; empty: there are no such hosts."""
    hosts = [terminal_safe(host.called) for host in HostStore(find_folders()).hosts()]
    return (
        f"For runs on a remembered host ({_one_of(hosts)}), add --host {hosts[0]}" if hosts else ""
    )


def _one_of(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_IDS])
    return shown if len(names) <= _SHOWN_IDS else f"{shown}, ..."


class UnknownRun(UserError):
    """No run matches the typed text."""

    def __init__(self, wanted: str, runs: Sequence[RunSummary]) -> None:
        near = difflib.get_close_matches(wanted, [run.name for run in runs], n=1)
        lines = [
            f"Did you mean {terminal_safe(near[0])}?" if near else "",
            "See the runs with: kmonitor runs" if runs else NO_RUNS,
            remembered_text(),
        ]
        remedy = "\n".join(filter(None, lines))
        super().__init__(f'Unknown run: "{terminal_safe(wanted)}".', remedy)


class AmbiguousRun(UserError):
    """More than one run matches the typed text."""

    def __init__(self, wanted: str, found: Sequence[RunSummary]) -> None:
        newest = max(run.started_wall_s for run in found)
        lines = [
            f"  {run.run}  {terminal_safe(run.name)}, {run.state}, "
            f"started {moment_text(run.started_wall_s, now_wall_s=newest)}"
            for run in found[-_SHOWN_IDS:]
        ]
        left_out = len(found) - len(lines)
        more = [f"  and {left_out} older ones"] if left_out else []
        super().__init__(
            f'"{terminal_safe(wanted)}" matches {len(found)} runs.',
            "\n".join(["Use the ID, or the first part of it:", *lines, *more]),
        )


def choose_run(runs: Sequence[RunSummary], wanted: str) -> RunSummary:
    """Return the one matching run: by id, else by name, else by the beginning of an id or name.

    If several runs have exactly the typed name, the only live one is chosen.

    Args:
        runs: All runs of the hub.
        wanted: The typed text.

    Raises:
        UnknownRun: No run matches.
        AmbiguousRun: More than one run matches.
    """
    by_start = sorted(runs, key=lambda run: run.started_wall_s)
    if wanted == LAST and by_start:
        return by_start[-1]
    named = [run for run in by_start if run.name == wanted]
    live = [run for run in named if run.state not in ENDED_STATES]
    matches = (
        [run for run in by_start if run.run == wanted]
        or (live if len(live) == 1 else named)
        or [run for run in by_start if wanted and run.run.startswith(wanted)]
        or [run for run in by_start if wanted and run.name.startswith(wanted)]
    )
    if not matches:
        raise UnknownRun(wanted, runs)
    if len(matches) > 1:
        raise AmbiguousRun(wanted, matches)
    return matches[0]


class RunFoundNowhere(UserError):
    """No queried hub knows the run; the remedy names the reply of each."""

    def __init__(self, wanted: str, attempts: list[tuple[str, str]]) -> None:
        lines = "\n".join(
            f"  {host_name}: {terminal_safe(reason)}" for host_name, reason in attempts
        )
        super().__init__(
            f'No host has a run that matches "{terminal_safe(wanted)}".',
            f"Searched:\n{lines}\nList the runs of a host: kmonitor runs --host NAME",
        )


def find_run_anywhere(folders: Folders, local_runs: list[RunSummary], wanted: str) -> str:
    """Return the id of the matching run, on this machine or else on a remembered host.

    Args:
        local_runs: Runs of this machine's hub.
        wanted: The typed text.

    Raises:
        UnknownRun: No run matches, and no host is remembered.
        RunFoundNowhere: No run matches, here and on all queried hosts.
        AmbiguousRun: More than one run matches.
    """
    try:
        return choose_run(local_runs, wanted).run
    except UnknownRun:
        hosts = HostStore(folders).hosts()
        if not hosts:
            raise
    with ThreadPoolExecutor(min(len(hosts), HOSTS_AT_ONCE), "kmonitor-search") as pool:
        replies = list(pool.map(partial(_runs_of, folders), hosts))
    found = [run for runs in replies if not isinstance(runs, str) for run in runs]
    try:
        return choose_run(found, wanted).run
    except UnknownRun:
        attempts = [("this machine", _no_match_text(local_runs))]
        for host, runs in zip(hosts, replies, strict=True):
            attempts.append((host.called, runs if isinstance(runs, str) else _no_match_text(runs)))
        raise RunFoundNowhere(wanted, attempts) from None


def _no_match_text(runs: list[RunSummary]) -> str:
    return f"{pluralized(len(runs), 'run')}, no match" if runs else "no runs"


def _runs_of(folders: Folders, host: RememberedHost) -> list[RunSummary] | str:
    """Runs of a host, or the reason why they are not known."""
    try:
        if host.address.startswith(SCHEME):
            with HubClient(network_hub(host.address, folders)) as client:
                wait_for_spools(client)
                return client.runs()
        with (
            deadline(HOST_S) as stop,
            open_tunnel(folders, host, stop=stop) as (_, tunnel),
            HubClient(ipc_endpoint(tunnel.local)) as client,
        ):
            wait_for_spools(client)
            return client.runs()
    except ConnectCancelled:
        return f"it did not respond within {HOST_S:g} s."
    except UserError as exc:
        return exc.what
    except (NotPrivate, OSError) as exc:
        return str(exc)
