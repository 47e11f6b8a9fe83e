"""Events that a run left in its spool, once its process has let it go."""

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.spool.folder import RunSpool


def spooled_events(folders: Folders, run: str) -> list[AnyEvent]:
    """All events of a run that its spool still holds, oldest first."""
    spool = RunSpool.acquire(folders.spool / run)
    assert spool is not None, "its process still has the spool"
    with spool:
        return [decode_event(each.body) for each in spool.events()]
