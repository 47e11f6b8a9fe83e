"""`kmonitor hub`: runs the hub without a window, reports on it, stops it, and sets its history."""

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from kmonitor.base.errors import UserError
from kmonitor.base.installation import resource_path
from kmonitor.base.plain_data import fields_of
from kmonitor.cli.common.hub_access import folder_faults_named, print_hub_problems
from kmonitor.cli.common.options import JsonOption, bytes_from
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    UsageError,
    pluralized,
    print_json,
    print_stderr,
    print_text,
    size_text,
    terminal_safe,
)
from kmonitor.cli.hub.service_unit import hub_command, unit_path, unit_text
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import (
    disk_space_problem,
    end_silent_hub,
    is_listening,
    lock_holder,
    request_local_hub,
    silent_hub_error,
    stop_hub,
)
from kmonitor.export.table_formats import atomic_text_file
from kmonitor.hub import service
from kmonitor.hub.metrics.exporters import metrics_endpoint, page_address
from kmonitor.hub.options import (
    HubOptions,
    Keep,
    KeepUnreadable,
    load_keep,
    load_keep_or_default,
    save_keep,
)
from kmonitor.hub.store.store_choice import store_named
from kmonitor.ui.text.formats import bytes_text, duration_text, with_plain_spaces
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.messages.unions import HubReply

app = App(name="hub")
app.command(
    "kmonitor.cli.hub.store:store",
    name="store",
    help=(
        "Show or set where all your hubs keep their history.\n\nExample: `kmonitor hub store here`"
    ),
)
app.command(
    "kmonitor.cli.hub.store:move_history",
    name="move-history",
    help="Copy this machine's local history to a team database.\n\n"
    "Example: `kmonitor hub move-history postgresql://kmonitor@db.example/team`",
)

app.command(
    "kmonitor.cli.hub.ensure:ensure",
    name="ensure",
    help="Start a hub here if none is running, and show where its socket is.\n\n"
    "Example: `kmonitor hub ensure --json`",
)

KeepDays = Annotated[float | None, Parameter(name="--keep-days")]
KeepSize = Annotated[str | None, Parameter(name="--keep-size")]
Prometheus = Annotated[str, Parameter(name="--prometheus", show_default=False)]
Otlp = Annotated[str, Parameter(name="--otlp", show_default=False)]

_POLL_S = 0.05


@app.default
def run(
    *,
    keep_days: KeepDays = None,
    keep_size: KeepSize = None,
    bind: Annotated[str, Parameter(name="--bind")] = "",
    store: Annotated[str | None, Parameter(name="--store")] = None,
    prometheus: Prometheus = "",
    otlp: Otlp = "",
) -> int:
    """Run the hub in this terminal, until Ctrl+C, SIGTERM or `kmonitor hub stop`.

    Example: `kmonitor hub --keep-days 90`

    Training runs send data to it, and `kmonitor` and the other commands read from it; both start a
    hub automatically if none is running.

    Under systemd, its log goes to the journal. `kmonitor hub keep` sets the default limits of its
    history.

    Args:
        keep_days: Remove runs that ended more than this many days ago; pinned ones stay.
        keep_size: Remove the oldest ended runs while the history is larger than this: `20GiB`.
        bind: Also listen on the network at this ADDRESS:PORT, such as 0.0.0.0:5577: encrypted, and
            only for keys authorized with `kmonitor authorize`.
        store: Keep the history in this team database: `postgresql://USER@HOST/DATABASE`, without
            a password; or `here` for a
            local file. Default: as set with `kmonitor hub store`.
        prometheus: Serve metrics for Prometheus at this ADDRESS:PORT, such as 127.0.0.1:9188,
            without authentication: anyone who can reach the port can read run names and metrics.
        otlp: Send metrics to this OpenTelemetry collector, such as http://127.0.0.1:4318.
    """
    folders = find_folders()
    is_chosen = keep_days is not None or keep_size is not None
    keep = chosen_keep(load_keep_or_default(folders), keep_days, keep_size) if is_chosen else None
    is_over = threading.Event()
    saying = threading.Thread(
        target=_print_when_running, args=(folders, is_over), name="kmonitor-hub-says", daemon=True
    )
    saying.start()
    try:
        with folder_faults_named(folders):
            named = None if store is None else store_named(store)
            options = HubOptions(
                keep=keep, bind=bind, store=named, prometheus=prometheus, otlp=otlp
            )
            _serve(folders, options)
    finally:
        is_over.set()
        saying.join()
    return DONE


def _serve(folders: Folders, options: HubOptions) -> None:
    try:
        service.run(folders, options)
    except service.HubCannotStart as exc:
        if isinstance(exc.__cause__, UnsafePath) or not disk_space_problem(folders):
            raise
        remedy = "Free some space, or set KMONITOR_HOME to a folder that you can write to."
        raise UserError(exc.what, exc.remedy or remedy) from exc


_ANSWER_S = 0.5
"""Longest wait for a reply of this process' own hub, seconds."""


def _print_when_running(folders: Folders, is_over: threading.Event) -> None:
    while not is_over.wait(_POLL_S):
        # The main thread reports faults of the folders; a reader that left is no fault.
        with suppress(UserError, OSError):
            reply = request_local_hub(folders, timeout_s=_ANSWER_S)
            if reply is not None and reply.pid == os.getpid():
                print_text(
                    "The hub is running. To stop it, press Ctrl+C or run: kmonitor hub stop"
                )
                print_listen_address(folders)
                print_metrics_addresses(reply)
                return


def print_listen_address(folders: Folders) -> None:
    """Print the network address, and the reason if no device can connect to it yet."""
    with HubClient(folders=folders) as client:
        reply = client.keys()
    if reply.address:
        print_text(f"It is listening on: {reply.address}")
    if reply.fault:
        print_stderr(f"{terminal_safe(reply.fault)}.")
    elif reply.address and not reply.keys:
        print_text(
            "No keys are authorized yet. Authorize one: kmonitor authorize KEY --role ROLE"
            " --name NAME"
        )


def print_metrics_addresses(reply: HubReply) -> None:
    """Print the addresses of the hub's metrics, with a note on missing authentication."""
    if reply.prometheus:
        print_text(f"Metrics for Prometheus, without authentication: {reply.prometheus}")
    if reply.otlp:
        print_text(f"Metrics are sent to: {terminal_safe(reply.otlp)}")


@app.command
def status(*, json: JsonOption = False) -> int:
    """Show whether a hub is running for this user. Exit status: 1 if none is.

    Example: `kmonitor hub status --json`

    Args:
        json: One JSON object, or null if none is running.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        reply = request_local_hub(folders)
    if json:
        print_json(None if reply is None else fields_of(reply))
    elif reply is None and (silent := silent_hub_error(folders)) is not None:
        print_stderr(f"kmonitor: {terminal_safe(silent.what)}")
        print_stderr(silent.remedy)
    elif reply is None:
        print_stderr("No hub is running. Start one with: kmonitor, kmonitor runs, or kmonitor hub")
    else:
        print_text(hub_status_text(reply))
        print_metrics_addresses(reply)
        print_hub_problems(reply)
    return FAILED if reply is None else DONE


def hub_status_text(reply: HubReply) -> str:
    """One line about a running hub."""
    up_s = max(0.0, time.time() - reply.started_wall_s)
    text = (
        f"Hub {reply.version} is running: process {reply.pid}, up {duration_text(up_s)}, "
        f"{pluralized(reply.agents, 'training run')} and "
        f"{pluralized(reply.viewers, 'viewer')} connected, "
        f"{pluralized(reply.rows, 'event')} in {bytes_text(reply.database_bytes)}"
    )
    if reply.retention_days or reply.retention_bytes:
        text += f". {keep_text(reply.retention_days, reply.retention_bytes)}"
        text += f" {pluralized(reply.runs_removed, 'run')} removed since it started"
    return with_plain_spaces(text)


_STARTING_S = 3.0
"""Time for which a starting hub holds its lock before it replies, seconds."""


@app.command
def stop() -> int:
    """Stop the hub. Training runs continue and keep their data on disk until a hub runs again.

    Example: `kmonitor hub stop`
    """
    folders = find_folders()
    with folder_faults_named(folders):
        reply = request_local_hub(folders)
        if reply is None:
            return _end_silent(folders)
        stop_hub(folders)
    print_text(f"Hub stopped (process {reply.pid}).")
    return DONE


def _end_silent(folders: Folders) -> int:
    """End a hub that does not reply; a starting hub gets some time first."""
    end_s = time.monotonic() + _STARTING_S
    while not is_listening(view_socket_path(folders)) and time.monotonic() < end_s:
        if lock_holder(folders) is None:
            break
        threading.Event().wait(_POLL_S)
    pid = end_silent_hub(folders)
    if pid is None:
        print_text("No hub is running.")
    else:
        print_text(f"The hub (process {pid}) did not respond; it was killed.")
    return DONE


@app.command
def keep(*, days: KeepDays = None, size: KeepSize = None) -> int:
    """Show or set how much history each of your hubs keeps; without options, only show it.

    Example: `kmonitor hub keep --keep-days 90 --keep-size 20GiB`

    A running hub applies the change within seconds, unless it was started with `--keep-days` or
    `--keep-size`. Pinned and live runs are always kept.

    Args:
        days: Remove runs that ended more than this many days ago; 0: no limit.
        size: Remove the oldest ended runs while the history is larger than this: `20GiB`; 0: no
            limit.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        reply = request_local_hub(folders)
        found = chosen_keep(_current_keep(folders, reply), days, size)
        if days is not None or size is not None:
            save_keep(folders, found)
            if reply is not None and reply.retention_is_fixed:
                print_stderr("The running hub was started with --keep-days or --keep-size:")
                print_stderr("these take precedence until it is restarted without them.")
    try:
        load_keep(folders)
    except KeepUnreadable as exc:
        print_stderr(f"kmonitor: {terminal_safe(exc.what)}; set it again: {exc.remedy}")
    print_text(keep_text(found.days, found.n_bytes))
    return DONE


def _current_keep(folders: Folders, reply: HubReply | None) -> Keep:
    """The stored setting; if its file is damaged, the setting that the hub read before."""
    try:
        return load_keep(folders)
    except KeepUnreadable:
        return Keep() if reply is None else Keep(reply.retention_days, reply.retention_bytes)


_MOST_DAYS = 100_000


def chosen_keep(stored: Keep, days: float | None, size: str | None) -> Keep:
    """Retention from the options, or else the stored one.

    Raises:
        UsageError: An option is no time or size.
    """
    if days is not None and not 0 <= days < _MOST_DAYS:
        raise UsageError(
            f"--keep-days {days:g}: use a number of days, such as 30; 0 keeps everything."
        )
    n_bytes = stored.n_bytes if size is None else bytes_from(size, "--keep-size")
    return Keep(stored.days if days is None else days, n_bytes)


def keep_text(days: float, n_bytes: int) -> str:
    """The setting as a sentence."""
    if not (days or n_bytes):
        return "All history is kept."
    parts = [f"runs that ended in the last {days:g} days"] if days else []
    whose = "of them" if days else "of runs that ended"
    parts += [f"at most {size_text(n_bytes)} {whose}"] if n_bytes else []
    return f"Kept: {', '.join(parts)}; pinned and live runs are always kept."


@app.command(name="install-unit")
def install_unit(
    *,
    show: Annotated[bool, Parameter(name="--print", negative="")] = False,
    prometheus: Prometheus = "",
    otlp: Otlp = "",
) -> int:
    """Write a systemd user unit that runs this hub, and show how to enable it.

    Example: `kmonitor hub install-unit --print`

    Args:
        show: Only print it.
        prometheus: Same as for `kmonitor hub`, but applies to the hub that the unit runs.
        otlp: Same as for `kmonitor hub`, but applies to the hub that the unit runs.
    """
    options = {"--prometheus": prometheus, "--otlp": otlp}
    if prometheus:
        page_address(prometheus)
    if otlp:
        metrics_endpoint(otlp)
    text = unit_text(hub_command(options), os.environ)
    if show:
        print_text(text.rstrip())
        return DONE
    path = unit_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise UserError(f"{path} cannot be written: {exc.strerror or exc}.") from exc
    print_text(f"Written: {path}")
    print_text("Enable it:    systemctl --user daemon-reload")
    print_text("              systemctl --user enable --now kmonitor-hub")
    print_text("To keep it running while you are logged out: loginctl enable-linger")
    print_text("Its log: journalctl --user -u kmonitor-hub")
    return DONE


@app.command(
    help=(
        "Write a Grafana dashboard for the metrics that `--prometheus` and `--otlp`"
        " provide.\n\nExample: `kmonitor hub dashboard --output kmonitor.json`"
    )
)
def dashboard(*, output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None) -> int:
    """Write an example dashboard for Grafana (Dashboards, New, Import).

    It queries a Prometheus server that scrapes `kmonitor hub --prometheus` or receives the metrics
    sent with `--otlp`.

    Args:
        output: File to write; an existing one is replaced. Default: standard output.
    """
    text = resource_path("grafana", "kmonitor.json").read_text(encoding="utf-8")
    if output is None:
        sys.stdout.write(text)
        return DONE
    with atomic_text_file(output) as file:
        file.write(text)
    print_stderr(f"Written: {output}")
    return DONE
