"""Names, notes, pins and deletions of runs, sent to their hubs and followed until the replies."""

from collections.abc import Sequence
from typing import Final

import msgspec

from kmonitor.ui.actions.action_panel import Confirmation
from kmonitor.ui.hosts.connection_status import ConnectionStatus
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor.ui.text.formats import bytes_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import EditReply, EditRequest, ErrorMessage, RunSummary

MAX_NAME: Final = 200
"""Maximum length of a run's name in characters, as in the protocol."""

MAX_NOTE: Final = 4096
"""Maximum length of a note in characters, as in the protocol."""

_NAMED_AT_MOST: Final = 4


class RunEdits:
    """Sends edits and stores their results; main thread only."""

    def __init__(self, request: SendRequest) -> None:
        self._refused: tuple[str, str] | None = None
        self._send_request = request
        self._open: dict[int, tuple[EditRequest, str]] = {}

    @property
    def trouble(self) -> str:
        """Text about why the last edit was refused; empty: it was not."""
        if self._refused is None:
            return ""
        name, why = self._refused
        return tr("\u201c{name}\u201d was not changed: {why}.").format(
            name=name, why=translated_text(why)
        )

    def rename(self, run: RunSummary, name: str) -> None:
        """Rename a run; an empty or unchanged name has no effect."""
        wanted = " ".join(name.split())[:MAX_NAME]
        if wanted and wanted != run.name:
            self._send(run, EditRequest(request_id=0, run=run.run, name=wanted))

    def annotate(self, run: RunSummary, note: str) -> None:
        """Set the note of a run; empty: remove it."""
        wanted = note.strip()[:MAX_NOTE]
        if wanted != run.note:
            self._send(run, EditRequest(request_id=0, run=run.run, note=wanted))

    def pin(self, runs: Sequence[RunSummary], *, is_pinned: bool) -> None:
        """Set whether runs are kept when old ones are removed to save space."""
        for run in runs:
            if run.pinned != is_pinned:
                self._send(run, EditRequest(request_id=0, run=run.run, pin=is_pinned))

    def delete(self, runs: Sequence[RunSummary]) -> None:
        """Delete runs with all their records."""
        for run in runs:
            self._send(run, EditRequest(request_id=0, run=run.run, delete=True))

    def apply_reply(self, reply: msgspec.Struct) -> bool:
        """Process a reply; True if it answers an edit of this window."""
        request = self._open.pop(getattr(reply, "request_id", 0), None)
        if request is None:
            return False
        edit, name = request
        if isinstance(reply, ErrorMessage) and not _is_already_deleted(edit, reply):
            self._refused = name, reply.text.rstrip(".")
        elif isinstance(reply, EditReply) and not self._open:
            self._refused = self._refused if edit.delete else None
        return True

    def _send(self, run: RunSummary, edit: EditRequest) -> None:
        if not self._open:
            self._refused = None
        self._open[self._send_request(edit)] = (edit, run.name)


def edit_blocked_reason(link: ConnectionStatus, host: str) -> str:
    """Reason why a hub's runs cannot be changed from here; empty if they can.

    Args:
        host: Name of the hub's host.
    """
    if not link.is_live or link.hub is None:
        return tr("The hub on {host} is currently unreachable.").format(host=host)
    if link.hub.folder:
        return tr("This folder is read-only here.")
    if link.hub.role == "viewer":
        text = tr("Runs on {host} are read-only: your key there has the viewer role.")
        return text.format(host=host)
    return ""


def delete_blocked_reason(run: RunSummary) -> str:
    """Reason why a run cannot be deleted now, by any user; empty if it can."""
    if has_ended(run) or run.state == "silent":
        return ""
    return tr("\u201c{name}\u201d is still running: stop it first.").format(name=run.name)


def confirm_delete(runs: Sequence[RunSummary], hosts: Sequence[str]) -> Confirmation:
    """Return the question to ask before runs are deleted, with the data that would be lost.

    Args:
        hosts: Names of the hosts of their hubs, each once.
    """
    size = bytes_text(float(sum(run.stored_bytes for run in runs)))
    where = ", ".join(hosts)
    lost = tr(
        "About {size} of measurements, events, verdicts and notes will be removed from the history"
        " on {where}, for everyone. Checkpoints and all files written by the training script are"
        " kept. This cannot be undone."
    ).format(size=size, where=where)
    if len(runs) == 1:
        title = tr("Remove \u201c{name}\u201d?").format(name=runs[0].name)
        yes = tr("Remove run")
    else:
        title = tr("Remove {n} runs?").format(n=len(runs))
        yes = tr("Remove {n} runs").format(n=len(runs))
        lost = f"{_names(runs)}\n\n{lost}"
    n_pinned = sum(run.pinned for run in runs)
    if n_pinned:
        consequence = (
            tr("This run is pinned.")
            if len(runs) == 1
            else tr("{n} of them are pinned.").format(n=n_pinned)
        )
        lost = f"{consequence} {lost}" if len(runs) == 1 else f"{lost}\n\n{consequence}"
    return Confirmation(title, lost, yes, tr("Keep"))


def _is_already_deleted(edit: EditRequest, error: ErrorMessage) -> bool:
    # A request may be sent twice: a run that is gone has been deleted.
    return edit.delete and error.code == "not_found"


def _names(runs: Sequence[RunSummary]) -> str:
    names = [f"\u201c{run.name}\u201d" for run in runs[:_NAMED_AT_MOST]]
    more = len(runs) - len(names)
    if more:
        names.append(tr("and {n} more").format(n=more))
    return ", ".join(names)
