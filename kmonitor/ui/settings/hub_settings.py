"""History and authorized keys of this machine's hub, for the settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from kmonitor.ui.actions.action_panel import Confirmation
from kmonitor.ui.text.formats import bytes_text, count_text, moment_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import (
    ErrorMessage,
    HubReply,
    HubRequest,
    KeysReply,
    KeysRequest,
)

_KEY_SHOWN = 12


@dataclass(frozen=True, slots=True)
class StorageState:
    """The stored history.

    Attributes:
        text: Size of the history in one sentence.
        fixed: Reason why the settings here have no effect; empty: they have.
    """

    text: str
    fixed: str


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A device that may connect.

    Attributes:
        key: Public key of the device.
        name: Name of the device.
        role: Role of the device, one word.
        since: Time of the authorization, and the beginning of the key.
    """

    key: str
    name: str
    role: str
    since: str


@dataclass(frozen=True, slots=True)
class HubKeysState:
    """Keys that may connect to this machine's hub.

    Attributes:
        rows: Keys sorted by name.
        text: Text above the keys, or in their place.
        trouble: Error text; may be empty.
    """

    rows: tuple[KeyRow, ...]
    text: str
    trouble: str


class HubSettingsStore:
    """Requests data about this machine's hub, and stores the replies; main thread only."""

    def __init__(self, send_request: Callable[[msgspec.Struct], int]) -> None:
        self._send_request = send_request
        self._requests: dict[int, str] = {}
        self._keys: KeysReply | None = None
        self._trouble = ""
        self.hub: HubReply | None = None

    def refresh(self) -> None:
        """Repeat the requests, unless a reply is pending."""
        if not self._requests:
            self._requests[self._send_request(HubRequest(request_id=0))] = "hub"
            self._requests[self._send_request(KeysRequest(request_id=0))] = "keys"

    def revoke(self, key: str) -> None:
        """Revoke a key, so that its device may no longer connect."""
        self._requests[self._send_request(KeysRequest(request_id=0, revoke=key))] = "revoke"

    def lost(self) -> None:
        """Drop pending requests, as the connection ended."""
        self._requests.clear()
        self.hub = None

    def apply_reply(self, reply: msgspec.Struct) -> bool:
        """Process a reply; True if it answers a request of this store."""
        what = self._requests.pop(getattr(reply, "request_id", -1), "")
        if not what:
            return False
        match reply:
            case HubReply():
                self.hub = reply
            case KeysReply():
                self._keys = reply
                self._trouble = ""
            case ErrorMessage():
                # A look that is refused says why in the list's place, a revocation beside it.
                self._trouble = reply.text
            case _:
                return True
        return True

    def stored(self) -> StorageState:
        hub = self.hub
        if hub is None:
            text = tr("This machine's hub is not running; the settings will apply once it starts.")
            return StorageState(text, "")
        text = tr("The history has {n} events and uses {size} on disk.").format(
            n=count_text(hub.rows), size=bytes_text(hub.database_bytes)
        )
        if hub.runs_removed:
            gone = tr("{n} runs have been removed by these limits since the hub started.")
            text = f"{text} {gone.format(n=count_text(hub.runs_removed))}"
        fixed = ""
        if hub.retention_is_fixed:
            fixed = tr(
                "This hub was started with --keep-days or --keep-size: these options take "
                "precedence until it is restarted without them."
            )
        return StorageState(text, fixed)

    def keys(self, now_wall_s: float) -> HubKeysState:
        reply = self._keys
        if reply is None:
            waits = "" if self._trouble else tr("Loading the settings of this machine's hub\u2026")
            return HubKeysState((), waits, translated_text(self._trouble))
        rows = tuple(
            KeyRow(
                each.key,
                each.name,
                _role(each.role),
                tr("since {time} \u00b7 key {key}\u2026").format(
                    time=moment_text(each.since_wall_s, now_wall_s=now_wall_s),
                    key=each.key[:_KEY_SHOWN],
                ),
            )
            for each in reply.keys
        )
        return HubKeysState(
            rows, _listening(reply.address, rows), translated_text(self._trouble or reply.fault)
        )


def confirm_revoke(name: str) -> Confirmation:
    return Confirmation(
        tr("Revoke \u201c{name}\u201d?").format(name=name),
        tr(
            "The machine with this key will no longer be able to connect to this machine's hub; "
            "any open connection will end at once. To allow it again, run kmonitor authorize "
            "with its key."
        ),
        tr("Revoke key"),
        tr("Keep"),
    )


def confirm_keep(days: float, n_bytes: int) -> Confirmation:
    """Return the question to ask before less history is kept.

    Args:
        days: Maximum age of ended runs, days; 0: no bound.
        n_bytes: Maximum size, beyond which the oldest runs are removed; 0: no bound.
    """
    parts: list[str] = []
    if days:
        parts.append(tr("Runs that ended more than {n} days ago").format(n=f"{days:g}"))
    if n_bytes:
        parts.append(
            tr("As many of the oldest runs as needed to stay within a total of {size}").format(
                size=bytes_text(n_bytes)
            )
        )
    goes = tr(
        "{what} will be removed from the history within minutes, for everyone. Pinned and "
        "live runs stay, and so do checkpoints. This cannot be undone."
    ).format(what="; ".join(parts))
    return Confirmation(tr("Keep less history?"), goes, tr("Keep less"), tr("Cancel"))


def _role(role: str) -> str:
    roles = {"viewer": tr("viewer"), "operator": tr("operator"), "agent": tr("training")}
    return roles.get(role, role)


def _listening(address: str, rows: Sequence[KeyRow]) -> str:
    if not address:
        where = tr("This machine's hub does not listen on the network.")
    else:
        where = tr("This machine's hub listens on {address}").format(address=address)
    return where if rows else f"{where} {tr('No keys are authorized.')}"
