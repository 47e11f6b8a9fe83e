"""Operators' requests: list, authorize and revoke keys, and read the audit."""

from collections.abc import Callable
from typing import Literal, assert_never

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.hub.access.endpoints import HubEndpoints
from kmonitor.hub.access.peers import Peer
from kmonitor.hub.runs.hub_event_log import HubEventLog
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
"""Sends the reply to the requester."""


class AccessService:
    """Owned by the hub's main thread."""

    def __init__(self, endpoints: HubEndpoints, log: HubEventLog, clock: Clock) -> None:
        self._hub_endpoints = endpoints
        self._keys = endpoints.keys
        self._event_log = log
        self._clock = clock

    def serve(self, peer: Peer, request: KeysRequest | AuditRequest, reply: Reply) -> None:
        """Answer an operator, once the change is written."""
        match request:
            case AuditRequest():
                rows, more = self._event_log.database.audit_rows(request.before, request.limit)
                reply(AuditReply(request_id=request.request_id, rows=rows, more=more))
            case KeysRequest():
                answer = self._change(peer, request)
                # The list is a file of its own: a full database delays only the audit.
                self._event_log.flush()
                reply(answer)
            case _:
                assert_never(request)

    def _change(self, peer: Peer, request: KeysRequest) -> KeysReply | ErrorMessage:
        self._hub_endpoints.refresh_keys()  # the file may just have been corrected by hand
        try:
            if request.authorize is not None:
                self._authorize(peer, request.authorize)
            if request.revoke and not self._revoke(peer, request.revoke):
                text = f'no key has the name or the value "{request.revoke}"'
                return _error(request, "not_found", text)
        except UserError as exc:
            return _error(request, "invalid", exc.what)
        except (OSError, NotPrivate) as exc:
            return _error(request, "invalid", f"the list of keys cannot be written: {exc}")
        fault = "" if self._keys.fault is None else str(self._keys.fault)
        return KeysReply(
            request_id=request.request_id,
            keys=self._keys.all(),
            address=self._hub_endpoints.address,
            fault=fault,
        )

    def _authorize(self, peer: Peer, wanted: KeyGrant) -> None:
        before = self._keys.find(wanted.key)
        if before is not None and (before.name, before.role) == (wanted.name, wanted.role):
            return  # asked twice
        self._keys.grant(msgspec.structs.replace(wanted, since_wall_s=self._clock.wall_s()))
        was = "" if before is None else f", was {before.name}, {before.role}"
        self._event_log.audit(
            peer.who, "authorize", "", f"{wanted.name} {wanted.key}", f"role {wanted.role}{was}"
        )
        if before is not None and before.role != wanted.role:
            self._hub_endpoints.end_sessions({wanted.key})

    def _revoke(self, peer: Peer, name_or_key: str) -> bool:
        gone = self._keys.revoke(name_or_key)
        if gone is None:
            return False
        self._event_log.audit(peer.who, "revoke", "", f"{gone.name} {gone.key}", "done")
        self._hub_endpoints.end_sessions({gone.key})
        return True


def _error(request: KeysRequest, code: Literal["invalid", "not_found"], text: str) -> ErrorMessage:
    return ErrorMessage(code=code, text=text, request_id=request.request_id)
