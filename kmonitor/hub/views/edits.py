"""Where a desktop's edits of runs are judged and done: names, notes, pins, deletions."""

from typing import TYPE_CHECKING, Final, Literal

from kmonitor.hub.runs.event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.unions import EditReply, EditRequest, ErrorMessage

if TYPE_CHECKING:
    from collections.abc import Callable


OF_ANOTHER: Final = "this run is kept by another hub of the team, which alone can change it"


class EditService:
    """Owned by the hub's main thread.

    Attributes:
        is_abandoned: Asked of a run that is not over: whether it may be deleted all the same.
        is_read_only: Nothing can be changed here.
    """

    def __init__(self, ledger: HubEventLog) -> None:
        self.is_abandoned: Callable[[RunRecord], bool] = _no
        self.is_read_only = False
        self._ledger = ledger

    def take(self, who: str, asked: EditRequest) -> EditReply | ErrorMessage:
        """Change a run, or say why not; what is told as done is written down.

        Args:
            who: Whose wish it is, for the audit.
            asked: The wish.
        """
        record = self._ledger.registry.get(asked.run)
        if self._ledger.registry.is_of_another(asked.run):
            return _edit_error(asked, "invalid", OF_ANOTHER)
        if record is None:
            return _edit_error(asked, "not_found", "this hub knows no such run")
        if self.is_read_only:
            text = "a folder is only looked at here; nothing in it is changed"
            return _edit_error(asked, "invalid", text)
        if asked.delete and not (record.is_over or self.is_abandoned(record)):
            return _edit_error(
                asked, "invalid", "its training still runs, or is silent: stop it first"
            )
        if not self._is_done(who, record, asked):
            return _edit_error(asked, "invalid", f"{self._ledger.trouble}; nothing was changed")
        return EditReply(ask=asked.ask, run=asked.run)

    def _is_done(self, who: str, record: RunRecord, asked: EditRequest) -> bool:
        """Whether it is written; where it is not, it is not done later either."""
        run, name = record.run, record.name
        rows = [(who, what, run, name, result) for what, result in _deeds(asked)]
        registry = self._ledger.registry
        if asked.delete:
            return self._ledger.attempt(
                lambda: registry.delete(record), lambda: registry.restore(record), rows
            )
        before = (record.name, record.renamed, record.note, record.pinned)

        def undo() -> None:
            record.name, record.renamed, record.note, record.pinned = before

        return self._ledger.attempt(lambda: self._change(record, asked), undo, rows)

    def _change(self, record: RunRecord, asked: EditRequest) -> None:
        if asked.name is not None:
            record.name, record.renamed = asked.name, True
        if asked.note is not None:
            record.note = asked.note
        if asked.pin is not None:
            record.pinned = asked.pin
        self._ledger.registry.touch(record)


def _deeds(asked: EditRequest) -> list[tuple[str, str]]:
    """What is done, and with what result, as the audit has it."""
    if asked.delete:
        return [("delete", "done")]
    deeds: list[tuple[str, str]] = []
    if asked.name is not None:
        deeds.append(("rename", asked.name))
    if asked.note is not None:
        deeds.append(("note", asked.note))
    if asked.pin is not None:
        deeds.append(("pin" if asked.pin else "unpin", "done"))
    return deeds


def _edit_error(
    asked: EditRequest, code: Literal["not_found", "invalid"], text: str
) -> ErrorMessage:
    return ErrorMessage(code=code, text=text, ask=asked.ask)


def _no(_record: RunRecord) -> bool:
    return False
