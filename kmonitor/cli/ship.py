"""`kmonitor ship`: sends the spools of trainings without a hub from a folder to a hub."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.cli.common.hub_access import (
    HostOption,
    HubOption,
    folder_faults_named,
    open_hub,
    require_hub,
)
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.run_choice import SHORT_ID
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    INTERRUPTED,
    UsageError,
    pluralized,
    print_json,
    print_stderr,
    print_table,
    print_text,
    terminal_safe,
)
from kmonitor.connect.folder_hub import is_without_spools, require_spools
from kmonitor.connect.host_access import known_host, remote_ingest
from kmonitor.connect.host_errors import HostError, route_lost
from kmonitor.connect.hub_client import HubUnreachable
from kmonitor.connect.hub_socket import NetworkHub, network_ingest
from kmonitor.connect.shipping import (
    IngestEndpoint,
    Shipper,
    ShippingProgress,
    delete_shipped,
    kept_reason,
)
from kmonitor_agent.wire.local.folders import Folders, expand_user, find_folders
from kmonitor_agent.wire.local.hub_address import SCHEME, ingest_socket_path, ipc_endpoint
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.spool.format import segments_bytes, unsafe_in
from kmonitor_agent.wire.spool.reader import SpoolReader, is_left, spools_below


def ship(
    folder: Path,
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    delete: Annotated[bool, Parameter(name="--delete-shipped", negative="")] = False,
    json: JsonOption = False,
    host: HostOption = None,
    hub: HubOption = None,
) -> int:
    """Send data from a folder to a hub, for training runs that had no hub.

    For clusters: a job runs with `KMONITOR_HUB=off` and `KMONITOR_SPOOL` set to a folder that this
    machine can also see. Spools are found at any depth. Those of live training runs are read too,
    without locking or changing anything. You can ship again at any time: the hub accepts only what
    it does not already have.

    Example: `kmonitor ship /scratch/ada/kmonitor`

    Args:
        folder: Folder with the spools.
        follow: Continue with new data and new runs, until Ctrl+C.
        delete: Remove a run's spool once the hub has stored all of it and its process is known
            to have ended; others stay.
        json: One JSON list: `run`, `host`, `events`, `missing`, `waits`, `refused` and `deleted`.
        host: Send to the hub on this host, over ssh: `gpu-01`, `user@gpu-01`, or a name
            from `kmonitor hosts`.
        hub: Send to the hub at this address, tcp://HOST:PORT?key=KEY, which must have authorized
            the key that `kmonitor keys mine --agent` prints.
    """
    spool_folder = expand_user(str(folder)).absolute()
    target = ShipTarget(find_folders(), host, hub)
    _require_spools(spool_folder, follow=follow)
    shipping = _Shipping(spool_folder, target, delete=delete, follow=follow)
    is_interrupted = False
    try:
        shipping.run()
    except KeyboardInterrupt:
        if not follow:
            raise
        is_interrupted = True
    spools = list(shipping.spools.values())
    if json:
        print_json([_object(spool) for spool in spools])
    else:
        _print_result(spool_folder, spools, target)
    if is_interrupted:
        return INTERRUPTED
    return FAILED if any(spool.progress.refused for spool in spools) else DONE


def _require_spools(folder: Path, *, follow: bool) -> None:
    if follow and is_without_spools(folder):
        shown = terminal_safe(str(folder))
        print_stderr(f"kmonitor: no training run has written to {shown} yet; waiting")
    else:
        require_spools(folder)


@dataclass(slots=True)
class _Spool:
    """A spool and the state of its shipping."""

    spool_reader: SpoolReader
    progress: ShippingProgress
    n_bytes: int = -1
    is_left: bool = False
    kept_reason: str = ""
    left_alone: str = ""
    deleted: bool = False
    is_printed: bool = False


@dataclass(frozen=True, slots=True)
class ShipTarget:
    """The hub that gets the spools.

    Attributes:
        host: Host of the hub, an ssh destination or a remembered name; None: none.
        hub: Address of the hub, `tcp://HOST:PORT?key=KEY`; None: none.
    """

    folders: Folders
    host: str | None = None
    hub: str | None = None

    def __post_init__(self) -> None:
        if self.host is not None and self.hub is not None:
            raise UsageError("--host and --hub cannot be combined.", "Use only one of them.")

    @property
    def description(self) -> str:
        if self.host is not None:
            return f"the hub on {self.host}"
        return "your hub" if self.hub is None else "the hub at that address"

    def is_transient(self, exc: HubUnreachable | HostError) -> bool:
        """True if another attempt may succeed."""
        return exc.is_transient if isinstance(exc, HostError) else True

    @contextmanager
    def endpoint(self) -> Generator[IngestEndpoint]:
        """Yield the hub's endpoint for trainings, with the route kept open.

        Raises:
            UserError: The hub is not reached, or the route is lost.
        """
        if self.hub is not None:
            yield IngestEndpoint(network_ingest(self.hub, self.folders))
            return
        if self.host is None:
            require_hub(self.folders)
            yield IngestEndpoint(ipc_endpoint(ingest_socket_path(self.folders)))
            return
        with folder_faults_named(self.folders), remote_ingest(self.folders, self.host) as endpoint:
            try:
                yield endpoint
            except HubUnreachable as exc:
                remedy = "Ship again: nothing is sent twice."
                raise route_lost(self.host, remedy) from exc

    def runs(self) -> dict[str, RunSummary]:
        """Runs of the hub by id; empty where a training's key may not list them."""
        if self.hub is not None or self._is_direct:
            return {}
        with open_hub(self.host) as client:
            return {run.run: run for run in client.runs()}

    def is_read_by_own_hub(self, spool: Path) -> bool:
        """True if a spool lies in the folder that this user's own hub reads."""
        return spool.parent.resolve() == self.folders.spool.resolve()

    @property
    def _is_direct(self) -> bool:
        host = self.host
        return host is not None and known_host(self.folders, host).address.startswith(SCHEME)


_EVERY_S: Final = 1.0
_SCAN_EVERY: Final = 5
"""Rounds between two searches for new spools."""

_TRIES: Final = 5
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
"""Number of tries after the route is lost, and pauses between tries; no end with `--follow`."""


class _Shipping:
    """Shipping of all spools of a folder.

    Attributes:
        spools: Spools found so far, by path.
    """

    def __init__(
        self, spool_folder: Path, target: ShipTarget, *, delete: bool, follow: bool
    ) -> None:
        self.spools: dict[Path, _Spool] = {}
        self._folder = spool_folder
        self._target = target
        self._delete = delete
        self._follow = follow
        self._was_reached = False
        self._n_lost = 0
        self._refused: set[Path] = set()

    def run(self) -> None:
        """Ship, over a new route whenever one is lost; returns only without `--follow`.

        Raises:
            UserError: The hub was not reached, at first or after a lost route.
        """
        while True:
            try:
                with self._target.endpoint() as endpoint:
                    self._ship_through(endpoint)
            except (HubUnreachable, HostError) as exc:
                self._n_lost += 1
                is_worth_it = self._follow or self._n_lost < _TRIES
                if not (self._was_reached and is_worth_it and self._target.is_transient(exc)):
                    raise
                print_stderr(f"kmonitor: {terminal_safe(exc.what)} Retrying.")
            else:
                return
            pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(self._n_lost - 1, 10))
            threading.Event().wait(pause_s)

    def _ship_through(self, endpoint: IngestEndpoint) -> None:
        # A hub behind a local or forwarded socket has just answered; one on the network has not.
        self._was_reached = self._was_reached or not isinstance(endpoint.hub, NetworkHub)
        self._round(endpoint)
        n = 0
        while self._follow:
            _print_new(self.spools)
            threading.Event().wait(_EVERY_S)
            n += 1
            self._round(endpoint, is_scan=n % _SCAN_EVERY == 0)

    def _print_refused(self, entry: UnsafePath) -> None:
        if entry.path not in self._refused:
            self._refused.add(entry.path)
            print_stderr(
                f"kmonitor: {terminal_safe(str(entry.path))!r} is ignored: it {entry.why}."
            )

    def _round(self, endpoint: IngestEndpoint, *, is_scan: bool = True) -> None:
        if is_scan:
            for path in spools_below(self._folder, known=self.spools, refused=self._print_refused):
                if path not in self.spools:
                    self.spools[path] = _Spool(SpoolReader(path), ShippingProgress(path.name))
        with Shipper(endpoint) as shipper:
            for path, spool in self.spools.items():
                if not spool.deleted:
                    _ship(shipper, path, spool, self._target, delete=self._delete)
                    self._was_reached = True
                    self._n_lost = 0


def _ship(
    shipper: Shipper, path: Path, spool: _Spool, target: ShipTarget, *, delete: bool
) -> None:
    if target.is_read_by_own_hub(path):
        spool.kept_reason = "your own hub reads it automatically"
        return
    try:
        n_bytes = segments_bytes(path)
        left = is_left(path)
        if (n_bytes, left) == (spool.n_bytes, spool.is_left) and not spool.progress.waits:
            return
        spool.is_left = left
        spool.n_bytes = -1
        spool.left_alone = ", ".join(f"{exc.path.name} {exc.strerror}" for exc in unsafe_in(path))
        shipper.ship(spool.spool_reader, spool.progress)
        spool.n_bytes = -1 if spool.progress.refused else n_bytes
        if delete and not spool.progress.refused:
            spool.kept_reason = kept_reason(path, spool.spool_reader, spool.progress)
            spool.deleted = not spool.kept_reason and delete_shipped(path)
    except OSError as exc:
        named = f"{exc.path.name} " if isinstance(exc, UnsafePath) else ""
        spool.progress.refused = f"it cannot be read: {named}{exc.strerror or exc}"


def _print_new(spools: dict[Path, _Spool]) -> None:
    for spool in spools.values():
        if spool.progress.events and not spool.is_printed:
            spool.is_printed = True
            print_text(
                terminal_safe(
                    f"run {spool.progress.run[:SHORT_ID]} on {spool.progress.host}: shipping"
                )
            )


def _print_result(spool_folder: Path, spools: list[_Spool], target: ShipTarget) -> None:
    known = target.runs()
    rows = [
        (
            spool.progress.run[:SHORT_ID],
            known[spool.progress.run].name if spool.progress.run in known else "",
            spool.progress.host,
            known[spool.progress.run].state if spool.progress.run in known else "",
            str(spool.progress.events),
            str(spool.progress.missing),
            _note(spool),
        )
        for spool in spools
    ]
    headers = ("RUN", "NAME", "HOST", "STATE", "SENT", "MISSING", "")
    print_table(headers, rows, right=("SENT", "MISSING"), folds=("NAME", "HOST", ""))
    sent = sum(spool.progress.events for spool in spools)
    missing = sum(spool.progress.missing for spool in spools)
    gaps = f", {pluralized(missing, 'event')} missing there" if missing else ""
    what = f"{pluralized(sent, 'event')} of {pluralized(len(spools), 'run')} in {spool_folder}"
    print_text(terminal_safe(f"{what} sent to {target.description}{gaps}."))


def _note(spool: _Spool) -> str:
    progress = spool.progress
    kept_text = f"kept: {spool.kept_reason}" if spool.kept_reason else ""
    waits = f"{progress.waits}; ship again later" if progress.waits else ""
    left_alone = f"ignored: {spool.left_alone}" if spool.left_alone else ""
    notes = (progress.refused, waits, left_alone, "deleted" if spool.deleted else kept_text)
    return "; ".join(note for note in notes if note)


def _object(spool: _Spool) -> dict[str, object]:
    progress = spool.progress
    return {
        "run": progress.run,
        "host": progress.host,
        "events": progress.events,
        "missing": progress.missing,
        "waits": progress.waits,
        "refused": progress.refused,
        "deleted": spool.deleted,
    }
