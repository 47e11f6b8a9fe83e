"""Names, notes, pins and deletions: requests, refusals, and previews."""

from typing import Any

from msgspec.structs import replace

from kmonitor.ui.history.selection import HistorySelectionState, history_selection_state
from kmonitor.ui.hosts.connection_status import ConnectionStatus
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.workspace.run_edits import (
    MAX_NAME,
    MAX_NOTE,
    RunEdits,
    confirm_delete,
    delete_blocked_reason,
    edit_blocked_reason,
)
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.unions import (
    EditReply,
    EditRequest,
    ErrorMessage,
    HubReply,
    RunSummary,
)
from tests.support.clock import MovedClock
from tests.support.made_up_runs import MIB, made_up_run, told_hub, told_runs
from tests.support.questions_asked import QuestionsAsked


def ended(run: str = "run1", **changed: Any) -> RunSummary:
    return made_up_run(run, **{"state": "finished", "actions": [], **changed})


def edits_of(hub: QuestionsAsked) -> list[EditRequest]:
    return [message for _, message in hub.of_type(EditRequest)]


def refused(ask: int, text: str = "no room", code: Any = "invalid") -> ErrorMessage:
    return ErrorMessage(code=code, text=text, request_id=ask)


def test_a_new_name_is_asked_for_once_and_no_name_not_at_all():
    hub = QuestionsAsked()
    desk = RunEdits(hub.ask)

    desk.rename(ended(), "  the  best\n one ")
    desk.rename(ended(), "   ")
    desk.rename(ended(), "resnet50-imagenet")
    desk.rename(ended(), "x" * 900)

    assert [edit.name for edit in edits_of(hub)] == ["the best one", "x" * MAX_NAME]


def test_a_note_can_be_written_and_emptied():
    hub = QuestionsAsked()
    desk = RunEdits(hub.ask)

    desk.annotate(ended(), " baseline\nof the paper ")
    desk.annotate(ended(note="old"), "")
    desk.annotate(ended(note="same"), "same")
    desk.annotate(ended(), "y" * 9000)

    assert [e.note for e in edits_of(hub)] == ["baseline\nof the paper", "", "y" * MAX_NOTE]


def test_only_runs_that_are_not_pinned_yet_are_pinned():
    hub = QuestionsAsked()
    desk = RunEdits(hub.ask)

    desk.pin([ended("a"), ended("b", pinned=True)], is_pinned=True)
    desk.pin([ended("c", pinned=True)], is_pinned=False)

    assert [(e.run, e.pin) for e in edits_of(hub)] == [("a", True), ("c", False)]


def test_what_is_refused_is_told_until_something_else_works():
    hub = QuestionsAsked()
    desk = RunEdits(hub.ask)
    desk.rename(ended(), "other")

    assert desk.apply_reply(refused(1, "its training still runs."))
    assert desk.trouble == "“resnet50-imagenet” was not changed: its training still runs."
    assert not desk.apply_reply(refused(1))

    desk.rename(ended(), "another")
    assert desk.trouble == ""
    assert desk.apply_reply(EditReply(request_id=2, run="run1"))
    assert desk.trouble == ""


def test_of_many_that_are_deleted_the_one_that_was_refused_is_told():
    hub = QuestionsAsked()
    desk = RunEdits(hub.ask)
    desk.delete([ended("a", name="A"), ended("b", name="B"), ended("c")])

    desk.apply_reply(refused(1, "busy here"))
    desk.apply_reply(EditReply(request_id=2, run="b"))
    # A question may go out twice: a run that is gone has been deleted.
    desk.apply_reply(refused(3, "this hub has no such run", "not_found"))

    assert desk.trouble == "“A” was not changed: busy here."


def test_a_message_that_answers_nothing_of_this_is_left_to_others():
    assert not RunEdits(QuestionsAsked().ask).apply_reply(EditReply(request_id=7, run="x"))


def _link(**changed: Any) -> ConnectionStatus:
    link = ConnectionStatus()
    link.connected(replace(told_hub(), **changed))
    return link


def test_why_nothing_can_be_changed_is_told():
    assert edit_blocked_reason(_link(), "gpu-01") == ""
    assert "viewer" in edit_blocked_reason(_link(role="viewer"), "gpu-01")
    assert "read-only here" in edit_blocked_reason(_link(folder="/data"), "gpu-01")
    assert "gpu-01 is currently unreachable" in edit_blocked_reason(ConnectionStatus(), "gpu-01")


def test_a_run_that_lives_is_not_deleted():
    assert delete_blocked_reason(ended()) == ""
    assert delete_blocked_reason(made_up_run(state="silent")) == ""
    assert "“resnet50-imagenet” is still running" in delete_blocked_reason(made_up_run())


def test_before_a_run_is_deleted_it_is_told_what_is_lost():
    picture = confirm_delete([ended(stored_bytes=int(12 * MIB), pinned=True)], ["gpu-01"])

    assert picture.title == "Remove “resnet50-imagenet”?"
    text = with_plain_spaces(picture.text)
    assert text.startswith("This run is pinned. About 12.0 MiB of measurements")
    assert "on gpu-01" in text
    assert "Checkpoints and all files written by the training script are kept" in text
    assert "cannot be undone" in text
    assert (picture.yes, picture.no) == ("Remove run", "Keep")


def test_before_many_are_deleted_the_first_are_named():
    runs = [ended(f"r{i}", name=f"n{i}", pinned=i == 2) for i in range(6)]

    picture = confirm_delete(runs, ["here", "there"])

    assert picture.title == "Remove 6 runs?"
    assert "“n0”, “n1”, “n2”, “n3”, and 2 more" in picture.text
    assert "on here, there" in picture.text
    assert "1 of them are pinned." in picture.text
    assert picture.yes == "Remove 6 runs"
    assert "Pinned" not in confirm_delete([ended("a"), ended("b")], ["h"]).text


class _Hubs:
    """A desk with one hub that reports of itself what the test sets."""

    def __init__(self, hub: HubReply | None = None) -> None:
        self.asked = QuestionsAsked()
        self.desk = Workspace(clock=MovedClock(), user="tester")
        self.desk.attach_hub(self.asked.ask)
        self.desk.connected(hub or told_hub())

    def picture(self, *runs: RunSummary) -> HistorySelectionState:
        self.desk.apply_message(told_runs(*runs))
        return history_selection_state(self.desk, runs)


def _enabled(picture: HistorySelectionState) -> list[str]:
    return [action.key for action in picture.actions if action.is_enabled]


def test_one_run_that_has_ended_can_be_opened_named_noted_pinned_and_deleted():
    picture = _Hubs().picture(ended(note="a\nnote"))

    assert _enabled(picture) == ["open", "rename", "note", "pin", "delete"]
    assert (picture.title, picture.text) == ("resnet50-imagenet", "a note")
    assert picture.why_not == ""
    assert picture.actions[2].tooltip == "Rename this run (F2)"


def test_several_can_be_pinned_and_deleted_but_not_named():
    picture = _Hubs().picture(ended("a", pinned=True), ended("b", pinned=True))

    assert _enabled(picture) == ["compare", "pin", "delete"]
    assert picture.title == "2 runs selected"
    assert "in total" in picture.text
    assert picture.actions[4].title == "Unpin"


def test_a_living_run_says_why_it_cannot_be_deleted():
    picture = _Hubs().picture(made_up_run())

    assert _enabled(picture) == ["open", "rename", "note", "pin"]
    assert "is still running" in picture.actions[5].tooltip
    assert picture.text == "No note"


def test_a_viewer_may_open_and_is_told_why_no_more():
    picture = _Hubs(replace(told_hub(), role="viewer")).picture(ended())

    assert _enabled(picture) == ["open"]
    assert picture.why_not.startswith("Runs on gpu-01 are read-only")


def test_with_nothing_selected_nothing_can_be_done():
    picture = history_selection_state(_Hubs().desk, [])

    assert _enabled(picture) == []
    assert picture.title == "No run selected"
    assert {a.tooltip for a in picture.actions} == {
        "Select one run.",
        "Select a run.",
        "Select two to six runs (Shift or Ctrl).",
    }


def test_a_desk_tells_of_refused_edits_and_forgets_what_was_deleted():
    hubs = _Hubs()
    hubs.picture(ended("a"), ended("b"))
    hubs.desk.edits.delete([ended("a")])
    (asked,) = hubs.asked.of_type(EditRequest)

    hubs.desk.changed.clear()
    hubs.desk.apply_message(refused(asked[0], "not now"))
    assert "not now" in hubs.desk.edits.trouble
    assert hubs.desk.changed == {"runs"}

    hubs.desk.apply_message(replace(told_runs(), deleted=["a"]))
    assert hubs.desk.run_store.get("a") is None
    assert "log" in hubs.desk.changed
    assert len(hubs.desk.run_store) == 1
