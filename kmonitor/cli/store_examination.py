"""What `kmonitor doctor` says of where history is kept."""

from collections.abc import Iterator

from kmonitor.cli.finding import Finding
from kmonitor.errors import Expected
from kmonitor.hub.store.opening import shown_store, stored_store, try_store
from kmonitor_agent.local.folders import Folders


def examine_store(folders: Folders) -> Iterator[Finding]:
    """Whether a team's database is set and can be used; nothing where history is kept here."""
    try:
        store = stored_store(folders)
        if not store:
            return
        try_store(store)
        found = Finding("history", "ok", f"in {shown_store(store)}, which answers")
    except Expected as exc:
        found = Finding("history", "bad", exc.what, exc.remedy)
    yield found
