"""Desktops' edits of runs, checked and carried out: names, notes, pins, deletions."""

from typing import TYPE_CHECKING, Final, Literal

from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.unions import EditReply, EditRequest, ErrorMessage

if TYPE_CHECKING:
    from collections.abc import Callable


OF_ANOTHER: Final = (
    "this run belongs to another of the team's hubs, and only that hub can change it"
)


class EditService:
    """Owned by the hub's main thread.

    Args:
        is_abandoned: True if a run that is not over may be deleted all the same.
        is_read_only: True if nothing can be changed here.
    """

    def __init__(
        self,
        log: HubEventLog,
        *,
        is_abandoned: "Callable[[RunRecord], bool]",
        is_read_only: bool = False,
    ) -> None:
        self._is_abandoned = is_abandoned
        self._is_read_only = is_read_only
        self._event_log = log

    def apply_edit(self, who: str, request: EditRequest) -> EditReply | ErrorMessage:
        """Change a run, or say why not; a confirmed change is in the database.

        Args:
            who: Name of the requester, for the audit.
        """
        record = self._event_log.registry.get(request.run)
        if self._event_log.registry.is_of_another(request.run):
            return _edit_error(request, "invalid", OF_ANOTHER)
        if record is None:
            return _edit_error(request, "not_found", "this hub has no such run")
        if self._is_read_only:
            text = "this folder is read-only here"
            return _edit_error(request, "invalid", text)
        if request.delete and not (record.is_over or self._is_abandoned(record)):
            return _edit_error(
                request,
                "invalid",
                (
                    "the run is still active (even if it is currently sending no data): stop it "
                    "first"
                ),
            )
        if not self._write_edit(who, record, request):
            return _edit_error(
                request, "invalid", f"{self._event_log.trouble}; nothing was changed"
            )
        return EditReply(request_id=request.request_id, run=request.run)

    def _write_edit(self, who: str, record: RunRecord, request: EditRequest) -> bool:
        """True if the edit is written; otherwise it is not made later either."""
        run = record.run
        name = record.name
        rows = [(who, what, run, name, result) for what, result in _audit_entries(request)]
        registry = self._event_log.registry
        if request.delete:
            return self._event_log.attempt(
                lambda: registry.delete(record), lambda: registry.restore(record), rows
            )
        before = (record.name, record.renamed, record.note, record.pinned)

        def undo() -> None:
            record.name, record.renamed, record.note, record.pinned = before

        return self._event_log.attempt(lambda: self._change(record, request), undo, rows)

    def _change(self, record: RunRecord, request: EditRequest) -> None:
        if request.name is not None:
            record.name = request.name
            record.renamed = True
        if request.note is not None:
            record.note = request.note
        if request.pin is not None:
            record.pinned = request.pin
        self._event_log.registry.mark_changed(record)


def _audit_entries(request: EditRequest) -> list[tuple[str, str]]:
    """Actions and results of an edit, for the audit."""
    if request.delete:
        return [("delete", "done")]
    deeds: list[tuple[str, str]] = []
    if request.name is not None:
        deeds.append(("rename", request.name))
    if request.note is not None:
        deeds.append(("note", request.note))
    if request.pin is not None:
        deeds.append(("pin" if request.pin else "unpin", "done"))
    return deeds


def _edit_error(
    request: EditRequest, code: Literal["not_found", "invalid"], text: str
) -> ErrorMessage:
    return ErrorMessage(code=code, text=text, request_id=request.request_id)
