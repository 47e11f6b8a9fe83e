"""`kmonitor hub store` and `move-history`: location of the history of this user's hubs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import folder_faults_named
from kmonitor.cli.common.terminal import (
    DONE,
    UsageError,
    pluralized,
    print_stderr,
    print_text,
    terminal_safe,
)
from kmonitor.connect.local_hub import request_local_hub
from kmonitor.hub.lock import HubLock
from kmonitor.hub.store.connection import READ_ERRORS
from kmonitor.hub.store.database import DATABASE_NAME
from kmonitor.hub.store.store_choice import (
    HERE,
    open_team_database,
    shown_store,
    store_named,
    stored_store,
    try_store,
    write_store,
)
from kmonitor_agent.wire.local.folders import Folders, find_folders

if TYPE_CHECKING:
    from kmonitor.hub.history_move import Moved


def store(where: Annotated[str | None, Parameter(show_default=False)] = None, /) -> int:
    """Show or set where all your hubs keep their history; without a URL, only show it.

    A team database on a PostgreSQL server is shared by many hubs: each stores its own runs and
    shows those of every hub. The connection is tested before the setting is saved, and the
    setting takes effect the next time a hub starts.

    Args:
        where: `postgresql://USER@HOST:PORT/DATABASE` (libpq takes the password from ~/.pgpass or
            the file named by PGPASSFILE); or `here`: in a file on this machine.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        if where is not None:
            named = store_named(where)
            if named:
                try_store(named)
            write_store(folders, named)
            _print_restart_hint(folders)
        found = stored_store(folders)
    print_text(f"History is kept in: {terminal_safe(store_text(folders, found))}")
    return DONE


def store_text(folders: Folders, url: str) -> str:
    """Location of the history as text, for a stored URL."""
    return shown_store(url) if url else f"{folders.database} ({HERE})"


def _print_restart_hint(folders: Folders) -> None:
    if request_local_hub(folders) is not None:
        print_stderr(
            "The running hub is not affected: stop it with kmonitor hub stop, and the next"
        )
        print_stderr(
            "one will keep its history there. Training runs continue in the meantime and lose no "
            "data."
        )


def move_history(where: Annotated[str | None, Parameter(show_default=False)] = None, /) -> int:
    """Copy this machine's local history to a team database, as the history of this hub.

    Each run is verified on the server before it is shown there. The file does not change. If the
    copy is interrupted, run the command again to continue.

    Args:
        where: Same as for `kmonitor hub store`; default: the configured database.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        url = stored_store(folders) if where is None else store_named(where)
        if not url:
            raise UsageError("No team database given.", "kmonitor hub move-history URL")
        try:
            moved = moved_to(folders, url, _progress)
        except KeyboardInterrupt:
            print_stderr(
                "Interrupted; what has been copied so far is kept. Run it again to continue."
            )
            raise
    print_text(
        f"Copied and verified: {pluralized(moved.runs, 'run')},"
        f" {pluralized(moved.events, 'event')}."
    )
    if moved.before:
        print_text(f"Copied earlier: {pluralized(moved.before, 'run')}.")
    if moved.ahead:
        print_text(
            f"{pluralized(moved.ahead, 'run')} had already continued in the team's database; their"
        )
        print_text("earlier data is only in the file.")
    if stored_store(folders) != url:
        print_text("To have your hubs keep their history there: kmonitor hub store URL")
    print_text(f"The file in {terminal_safe(str(folders.database))} is unchanged.")
    return DONE


_REPORT_EVERY = 100


def _progress(number: int, of: int) -> None:
    if number % _REPORT_EVERY == 0:
        print_stderr(f"run {number} of {of} ...")


def moved_to(folders: Folders, store: str, on_progress: Callable[[int, int], object]) -> "Moved":
    """Move the history in this user's file to a team's database.

    Args:
        store: URL of the team's database.
        on_progress: Called before each run with its number, from 1, and the number of runs.

    Raises:
        AnotherHub: A hub is running here and must be ended first.
        UserError: The history cannot be moved now; another call continues where this one stopped.
    """
    path = folders.database / DATABASE_NAME
    if not path.exists():
        raise UserError(f"There is no history in {path}.")
    lock = HubLock(folders.database / "hub.lock")
    try:
        database = open_team_database(folders, store)
        from kmonitor.hub import history_move  # noqa: PLC0415 - an extra

        try:
            return history_move.copy_history(path, database, on_progress)
        except READ_ERRORS as exc:
            remedy = (
                "Run the command again when the server is back; it continues where it left off."
            )
            raise UserError(f"The copy was interrupted: {exc}.", remedy) from exc
        finally:
            database.close()
    finally:
        lock.release()
