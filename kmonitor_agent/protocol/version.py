"""Which protocol this is, and the bounds that every message keeps."""

from typing import Final

MAGIC: Final = b"KM1"
"""First frame of every message; the digit is the major version."""

MINOR_VERSIONS: Final = (1, 1)
"""Oldest and newest minor version that this program speaks, both included."""

MAX_EVENT_BYTES: Final = 64 * 1024
"""Largest encoded event."""

MAX_BATCH_EVENTS: Final = 1024
"""Most events in one `batch`."""

MAX_BATCH_BYTES: Final = 512 * 1024
"""Most encoded event bytes in one `batch`, and in one `rows` page."""

MAX_WINDOW_EVENTS: Final = 4096
"""Most events that an agent sends ahead of the hub's acknowledgement."""

MAX_PAGE_ROWS: Final = 1000
"""Most rows in one page that a desktop pulls."""

MAX_HUB_FRAME_BYTES: Final = 1024 * 1024
"""MAXMSGSIZE of the hub's sockets."""

MAX_AGENT_FRAME_BYTES: Final = 64 * 1024
"""MAXMSGSIZE of the agent's socket."""

MAX_TEXT: Final = 4096
"""Longest text field, characters."""
