"""This hub's own history moved to a team's database, while no hub runs here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kmonitor.base.errors import Expected
from kmonitor.hub.lock import HubLock
from kmonitor.hub.store.connection import CANNOT_READ
from kmonitor.hub.store.sqlite_database import DATABASE_NAME
from kmonitor.hub.store.store_choice import open_team_database
from kmonitor_agent.wire.local.folders import Folders

if TYPE_CHECKING:
    from kmonitor.hub.history_move import Moved


def moved_to(folders: Folders, store: str, tell: Callable[[int, int], object]) -> "Moved":
    """Move the history in this user's file to a team's database.

    Args:
        folders: This user's folders.
        store: URL of the team's database.
        tell: Called before each run with its number, from 1, and how many there are.

    Raises:
        AnotherHub: A hub runs here: end it first.
        Expected: It cannot be moved, or not now; calling it again goes on where it stopped.
    """
    path = folders.database / DATABASE_NAME
    if not path.exists():
        raise Expected(f"There is no history in {path}.")
    lock = HubLock(folders.database / "hub.lock")
    try:
        database = open_team_database(folders, store)
        from kmonitor.hub import history_move  # noqa: PLC0415 - an extra

        try:
            return history_move.move_history(path, database, tell)
        except CANNOT_READ as exc:
            remedy = "Call it again once the server is back: it goes on where it stopped."
            raise Expected(f"The move was interrupted: {exc}.", remedy) from exc
        finally:
            database.close()
    finally:
        lock.release()
