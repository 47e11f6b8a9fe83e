"""What a link can say of itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """A moment's view; reading it costs nothing and touches no file.

    Attributes:
        hub_seen: Whether a hub ever welcomed this process.
        connected: Whether one does now.
        last_seq: Newest number given.
        acked: Up to where the hub has committed.
        spooled_bytes: Written to disk by this boot and still there.
        degraded: Why the disk is not used, in words; empty when it is.
        dropped: Events that found no room in memory.
        faults: Faults of our own, all parts together.
    """

    hub_seen: bool
    connected: bool
    last_seq: int
    acked: int
    spooled_bytes: int
    degraded: str
    dropped: int
    faults: int
