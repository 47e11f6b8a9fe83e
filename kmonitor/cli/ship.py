"""`kmonitor ship`: what trainings without a hub wrote into a folder goes to this user's hub."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.cli.hub_access import open_hub, see_hub
from kmonitor.cli.run_choice import SHORT_ID
from kmonitor.cli.statuses import DONE, FAILED
from kmonitor.cli.terminal import complain, counted, plain, say, say_json, say_table
from kmonitor.connect.folder_view import see_spools
from kmonitor.connect.hub_client import HubUnreachable
from kmonitor.connect.shipped_spools import delete_shipped, why_kept
from kmonitor.connect.shipper import Shipped, Shipper
from kmonitor_agent.local.folders import Folders, find_folders
from kmonitor_agent.local.sockets import ingest_socket, ipc
from kmonitor_agent.local.spool_tail import SpoolTail, spools_below

_EVERY_S: Final = 1.0
_SCAN_EVERY: Final = 5
"""Rounds from one look for new spools to the next."""


@dataclass(slots=True)
class _Spool:
    """A spool, and what was done with it so far."""

    tail: SpoolTail
    done: Shipped
    n_bytes: int = -1
    kept: str = ""
    deleted: bool = False
    rounds: int = field(default=0)


def ship(
    folder: Path,
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    delete: Annotated[bool, Parameter(name="--delete-shipped", negative="")] = False,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Send what trainings without a hub wrote into a folder to your hub here.

    For clusters: a job runs with `KMONITOR_HUB=off` and `KMONITOR_SPOOL` on a folder that this
    machine sees too. Spools are found however deep they lie. Also those of living trainings are
    read, without locking or changing anything. Ship again as often as you like: the hub takes
    only what it has not.

    Example: `kmonitor ship /scratch/ada/kmonitor --follow`

    Args:
        folder: Where the spools lie.
        follow: Go on with what is written and with new runs, until Ctrl+C.
        delete: Remove a run's spool once the hub has stored all of it and its process is known
            to have ended; others stay.
        json: One JSON list: `run`, `host`, `events`, `missing`, `waits`, `refused`, `deleted`.
    """
    place = folder.expanduser().absolute()
    folders = find_folders()
    see_spools(place)
    see_hub(folders)
    spools: dict[Path, _Spool] = {}
    try:
        _round(place, folders, spools, delete=delete)
        if follow:
            _say_new(spools)
            _go_on(place, folders, spools, delete=delete)
    except KeyboardInterrupt:
        if not follow:
            raise
    if json:
        say_json([_object(spool) for spool in spools.values()])
    else:
        _say_what(place, list(spools.values()))
    return FAILED if any(spool.done.refused for spool in spools.values()) else DONE


def _go_on(place: Path, folders: Folders, spools: dict[Path, _Spool], *, delete: bool) -> None:
    n = 0
    while True:
        threading.Event().wait(_EVERY_S)
        n += 1
        try:
            _round(place, folders, spools, delete=delete, is_scan=n % _SCAN_EVERY == 0)
        except HubUnreachable:
            complain("kmonitor: the hub does not answer; it is started again")
            see_hub(folders)
        _say_new(spools)


def _round(
    place: Path,
    folders: Folders,
    spools: dict[Path, _Spool],
    *,
    delete: bool,
    is_scan: bool = True,
) -> None:
    if is_scan:
        for path in spools_below(place):
            if path not in spools:
                spools[path] = _Spool(SpoolTail(path), Shipped(path.name))
    with Shipper(ipc(ingest_socket(folders))) as shipper:
        for path, spool in spools.items():
            if not spool.deleted:
                _ship(shipper, path, spool, folders, delete=delete)


def _ship(shipper: Shipper, path: Path, spool: _Spool, folders: Folders, *, delete: bool) -> None:
    if path.parent.resolve() == folders.spool.resolve():
        spool.kept = "your hub takes it by itself"
        return
    try:
        n_bytes = sum(each.stat().st_size for each in path.glob("*.events"))
        if n_bytes == spool.n_bytes and not spool.done.waits:
            return
        now = shipper.ship(spool.tail)
        spool.n_bytes = n_bytes
        _add(spool, now)
        if delete and not spool.done.refused:
            spool.kept = why_kept(path, spool.tail, spool.done)
            spool.deleted = not spool.kept and delete_shipped(path)
    except OSError as exc:
        spool.done.refused = f"it cannot be read: {exc.strerror or exc}"


def _add(spool: _Spool, now: Shipped) -> None:
    spool.rounds += now.events > 0
    now.events += spool.done.events
    now.missing += spool.done.missing
    spool.done = now


def _say_new(spools: dict[Path, _Spool]) -> None:
    for spool in spools.values():
        if spool.rounds == 1:
            spool.rounds += 1
            say(plain(f"run {spool.done.run[:SHORT_ID]} on {spool.done.host}: shipping"))


def _say_what(place: Path, spools: list[_Spool]) -> None:
    with open_hub() as client:
        known = {run.run: run for run in client.runs()}
    rows = [
        (
            spool.done.run[:SHORT_ID],
            known[spool.done.run].name if spool.done.run in known else "",
            spool.done.host,
            known[spool.done.run].state if spool.done.run in known else "",
            str(spool.done.events),
            str(spool.done.missing),
            _note(spool),
        )
        for spool in spools
    ]
    headers = ("RUN", "NAME", "HOST", "STATE", "SENT", "MISSING", "")
    say_table(headers, rows, right=("SENT", "MISSING"), folds=("NAME", "HOST", ""))
    sent = sum(spool.done.events for spool in spools)
    missing = sum(spool.done.missing for spool in spools)
    gaps = f", {counted(missing, 'event')} missing there" if missing else ""
    say(plain(f"{counted(sent, 'event')} of {counted(len(spools), 'run')} in {place} sent{gaps}."))


def _note(spool: _Spool) -> str:
    done = spool.done
    kept = f"kept: {spool.kept}" if spool.kept else ""
    waits = f"{done.waits}; ship again later" if done.waits else ""
    notes = (done.refused, waits, "deleted" if spool.deleted else kept)
    return "; ".join(note for note in notes if note)


def _object(spool: _Spool) -> dict[str, object]:
    done = spool.done
    return {
        "run": done.run,
        "host": done.host,
        "events": done.events,
        "missing": done.missing,
        "waits": done.waits,
        "refused": done.refused,
        "deleted": spool.deleted,
    }
