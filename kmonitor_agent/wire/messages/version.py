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

MAX_NAME: Final = 200
"""Longest name that a person gave, characters."""

MAX_COUNT: Final = 2**53
"""Largest count, size in bytes or sequence number: the whole numbers that a double has exactly.

The sum of a batch's `first` and the number of its events stays within it too, so that no number
that is stored ever leaves the 63 bits of a database.
"""

MAX_WALL_S: Final = 7_258_118_400.0
"""Latest moment, UTC epoch seconds: the year 2200. Calendars of a language end at 9999."""

MAX_DURATION_S: Final = 1e9
"""Longest stretch of time, seconds: 31 years."""

MAX_AMOUNT: Final = 1e18
"""Largest measured quantity."""

MAX_LOGS: Final = 4096
"""Most of Keras' logs of one epoch; more do not fit into an event with names of a few letters."""

MAX_DELETED: Final = 100_000
"""Most ids of deleted runs in one answer."""

MAX_COLUMN_BYTES: Final = 1024 * 1024
"""Largest column of a series; 4000 buckets of two points and a gap each take an eighth of it."""

MAX_ANSWER_ROWS_BYTES: Final = 2 * 1024 * 1024
"""Most that summaries of runs, or rows of the audit, take in one answer; then there is another."""

MAX_EPOCH_BYTES: Final = 4 * 1024 * 1024
"""Largest column of epochs in an answer: the newest half a million."""

MAX_RANK: Final = 254
"""Most axes of a tensor in a model's layout; TensorFlow's own bound."""

MAX_LAYOUT_ITEMS: Final = 100_000
"""Most variables, layers, tensors or calls of a model's layout."""
