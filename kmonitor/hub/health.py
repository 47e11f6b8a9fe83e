"""Health of the hub: its troubles for whoever asks, and its settings for retention."""

from collections.abc import Callable, Sequence

from kmonitor.hub.log import LOG
from kmonitor.hub.options import KeepUnreadable, load_keep
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.retention import Retention
from kmonitor_agent.wire.local.folders import Folders

HEALTH_CHECK_EVERY_S = 2.0
"""Interval at which the settings are read for retention, seconds: window and command line change
them."""

_LONGEST_TEXT = 2000


class HubHealth:
    """Owned by the hub's main thread.

    Args:
        log: The event log, whose database may not be writable.
        retention: Receives the settings for retention.
        is_fixed: True if the command line sets retention: the settings do not count.
        sources: Each returns the trouble of another part of the hub; empty: none.
    """

    def __init__(
        self,
        folders: Folders,
        log: HubEventLog,
        retention: Retention,
        *,
        is_fixed: bool,
        sources: Sequence[Callable[[], str]] = (),
    ) -> None:
        self._folders = folders
        self._event_log = log
        self._retention = retention
        self._is_fixed = is_fixed
        self._sources = sources
        self._has_loaded_keep = False
        self._keep_fault = ""
        self._store_trouble = ""

    @property
    def unwritten(self) -> str:
        """Why nothing can be written now, and the remedy; empty: the hub can write."""
        return self.troubles()[0] if self._event_log.trouble else ""

    def troubles(self) -> list[str]:
        """Troubles and their remedies, a sentence each, without a full stop."""
        found = (
            self._event_log.trouble,
            self._store_trouble,
            self._keep_fault,
            *(source() for source in self._sources),
        )
        # A path may hold bytes that are no text, which no message could carry.
        texts = dict.fromkeys(text for text in found if text)
        return [text[:_LONGEST_TEXT].encode(errors="replace").decode() for text in texts]

    def refresh(self) -> None:
        """Read the settings for retention, and look for a database that was put aside."""
        if not self._is_fixed:
            self._refresh_keep()
        self._store_trouble = self._event_log.database.lasting_trouble()

    def _refresh_keep(self) -> None:
        try:
            keep = load_keep(self._folders)
        except KeepUnreadable as exc:
            # An unreadable file says nothing: neither remove more, nor keep all.
            goes_on = (
                "the previous setting applies until a new one is set"
                if self._has_loaded_keep
                else "all history is kept until a new limit is set"
            )
            trouble = f"{exc.what}: {goes_on} ({exc.remedy})"
            if trouble != self._keep_fault:
                LOG.warning("%s", trouble)
            self._keep_fault = trouble
            return
        self._keep_fault = ""
        if self._has_loaded_keep and keep != self._retention.keep:
            LOG.info("keeps %g days and %d bytes of history from now on", keep.days, keep.n_bytes)
        self._has_loaded_keep = True
        self._retention.keep = keep
