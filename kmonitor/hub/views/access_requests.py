"""Operators' questions: who may connect, let this one in, that one no more, what was done."""

from collections.abc import Callable
from typing import Literal, assert_never

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.hub.access.endpoints import HubEndpoints
from kmonitor.hub.access.peers import Peer
from kmonitor.hub.runs.event_log import HubEventLog
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.access_messages import (
    AuditReply,
    AuditRequest,
    KeyGrant,
    KeysReply,
    KeysRequest,
)
from kmonitor_agent.wire.messages.unions import ErrorMessage

Reply = Callable[[msgspec.Struct], object]
"""Sends the answer to who asked."""


class AccessService:
    """Owned by the hub's main thread."""

    def __init__(self, doors: HubEndpoints, ledger: HubEventLog, clock: Clock) -> None:
        self._doors = doors
        self._keys = doors.keys
        self._ledger = ledger
        self._clock = clock

    def serve(self, peer: Peer, asked: KeysRequest | AuditRequest, reply: Reply) -> None:
        """Answer an operator, once what was changed is written down."""
        match asked:
            case AuditRequest():
                rows, more = self._ledger.database.audit_rows(asked.before, asked.limit)
                reply(AuditReply(ask=asked.ask, rows=rows, more=more))
            case KeysRequest():
                told = self._change(peer, asked)
                # The list is a file of its own: a full database delays only the audit.
                self._ledger.flush()
                reply(told)
            case _:
                assert_never(asked)

    def _change(self, peer: Peer, asked: KeysRequest) -> KeysReply | ErrorMessage:
        self._doors.look_at_keys()  # who asks may just have mended the file by hand
        try:
            if asked.authorize is not None:
                self._authorize(peer, asked.authorize)
            if asked.revoke and not self._revoke(peer, asked.revoke):
                text = f'no key is called "{asked.revoke}", and none is that key'
                return _error(asked, "not_found", text)
        except UserError as exc:
            return _error(asked, "invalid", exc.what)
        except (OSError, NotPrivate) as exc:
            return _error(asked, "invalid", f"the list of keys cannot be written: {exc}")
        fault = "" if self._keys.fault is None else str(self._keys.fault)
        return KeysReply(
            ask=asked.ask, keys=self._keys.all(), address=self._doors.address, fault=fault
        )

    def _authorize(self, peer: Peer, wanted: KeyGrant) -> None:
        before = self._keys.find(wanted.key)
        if before is not None and (before.name, before.role) == (wanted.name, wanted.role):
            return  # asked twice
        self._keys.grant(msgspec.structs.replace(wanted, since_wall_s=self._clock.wall_s()))
        was = "" if before is None else f", was {before.name}, {before.role}"
        self._ledger.audit(
            peer.who, "authorize", "", f"{wanted.name} {wanted.key}", f"role {wanted.role}{was}"
        )
        if before is not None and before.role != wanted.role:
            self._doors.end_sessions({wanted.key})

    def _revoke(self, peer: Peer, name_or_key: str) -> bool:
        gone = self._keys.revoke(name_or_key)
        if gone is None:
            return False
        self._ledger.audit(peer.who, "revoke", "", f"{gone.name} {gone.key}", "done")
        self._doors.end_sessions({gone.key})
        return True


def _error(asked: KeysRequest, code: Literal["invalid", "not_found"], text: str) -> ErrorMessage:
    return ErrorMessage(code=code, text=text, ask=asked.ask)
