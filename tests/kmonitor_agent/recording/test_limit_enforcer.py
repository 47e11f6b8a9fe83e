"""Limits of a run: who set them, what survives, what a crossing requests."""

import msgspec
import pytest

from kmonitor_agent.limit_watch import LimitWatch
from kmonitor_agent.recording.action_requests import ActionRequest
from kmonitor_agent.recording.limit_enforcer import BoundedReading, LimitEnforcer
from kmonitor_agent.wire.limits import Limit, why_limits_invalid
from kmonitor_agent.wire.messages.commands import LimitSpec, SetLimits
from kmonitor_agent.wire.messages.events import Event, LimitCrossed, LimitsInForce, Notice


class Kept:
    """A keeper, and what came out of it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.requests: list[ActionRequest] = []
        self.now_s = 0.0
        self.keeper = LimitEnforcer(
            emit=self.events.append, request=self._take, now_s=lambda: self.now_s
        )

    def _take(self, request: ActionRequest) -> bool:
        self.requests.append(request)
        return len(self.requests) < 10

    def in_force(self) -> list[LimitSpec]:
        return [e for e in self.events if isinstance(e, LimitsInForce)][-1].limits


@pytest.fixture
def kept() -> Kept:
    return Kept()


GRAPH = Limit("graph", 100, action="reload").spec
RAM = Limit("ram", "80%").spec


def test_crossing_is_told_and_its_action_asked_for(kept: Kept):
    kept.keeper.set_by_script((GRAPH,))

    kept.keeper.observe("graph", BoundedReading(150.0))

    crossings = [e for e in kept.events if isinstance(e, LimitCrossed)]
    assert [(c.metric, c.value, c.threshold) for c in crossings] == [("graph", 150.0, 100.0)]
    assert [(r.action, r.requested_by, r.at) for r in kept.requests] == [
        ("reload", "limit graph 100", "epoch")
    ]


def test_notify_is_told_and_nothing_done(kept: Kept):
    kept.keeper.set_by_script((RAM,))

    kept.keeper.observe("ram", BoundedReading(90.0, 100.0))

    assert any(isinstance(e, LimitCrossed) for e in kept.events)
    assert kept.requests == []


def test_same_limits_of_the_next_callback_keep_their_cooldown(kept: Kept):
    kept.keeper.set_by_script((GRAPH,))
    kept.keeper.observe("graph", BoundedReading(150.0))
    kept.keeper.observe("graph", BoundedReading(50.0))

    kept.keeper.set_by_script((GRAPH,))
    kept.now_s = 1.0
    kept.keeper.observe("graph", BoundedReading(150.0))

    assert len(kept.requests) == 1
    assert len([e for e in kept.events if isinstance(e, LimitsInForce)]) == 1


def test_limit_from_the_app_outlives_the_script_s_next_callback(kept: Kept):
    kept.keeper.set_by_script((GRAPH, RAM))
    moved = LimitSpec(metric="graph", value=500.0, action="reload")
    kept.keeper.set_by_command(SetLimits(["graph"], [moved]), "ada")

    kept.keeper.set_by_script((GRAPH,))

    assert [(s.metric, s.value, s.set_by) for s in kept.in_force()] == [("graph", 500.0, "ada")]


def test_metric_named_without_a_limit_loses_its_own(kept: Kept):
    kept.keeper.set_by_script((GRAPH, RAM))

    kept.keeper.set_by_command(SetLimits(["graph"], []), "ada")

    assert kept.in_force() == [RAM]


def test_percentage_without_a_bound_is_told_once(kept: Kept):
    kept.keeper.set_by_script((Limit("vram", "80%").spec,))

    for _ in range(3):
        kept.keeper.observe("vram", BoundedReading(5.0))
    kept.keeper.observe("vram", BoundedReading(None))

    notices = [e for e in kept.events if isinstance(e, Notice)]
    assert [n.code for n in notices] == ["limit_unbounded"]
    assert "Set an absolute value" in notices[0].text


def _too_large(kept: Kept) -> list[str]:
    return [e.text for e in kept.events if isinstance(e, Notice) and e.code == "limit_too_large"]


def test_a_limit_above_what_there_is_is_reported_once_it_is_known(kept: Kept):
    kept.keeper.set_by_script((Limit("ram", "500 GiB").spec, Limit("open_files", 100).spec))
    assert _too_large(kept) == []

    for _ in range(2):
        kept.keeper.observe("ram", BoundedReading(2.0**30, 31.2 * 2**30))
        kept.keeper.observe("open_files", BoundedReading(12.0, 1024.0))

    (text,) = _too_large(kept)
    assert text.startswith("limit ram 500 GiB is above the 31.2 GiB available to this run here")


def test_a_limit_above_what_there_is_is_reported_when_it_is_set(kept: Kept):
    kept.keeper.observe("ram", BoundedReading(2.0**30, 8.0 * 2**30))

    for threshold in ("80%", "8 GiB", "9 GiB", "9 GiB"):
        kept.keeper.set_by_command(SetLimits(["ram"], [Limit("ram", threshold).spec]), "ada")

    assert [text.partition(" is ")[0] for text in _too_large(kept)] == ["limit ram 9 GiB"] * 2
    assert isinstance(
        kept.events[-2], LimitsInForce
    )  # the answer to the command comes behind both


def test_after_an_answer_growth_counts_from_the_new_base(kept: Kept):
    spec = Limit("graph", 100, action="reload", cooldown_s=0).spec
    kept.keeper.set_by_script((spec,))
    kept.keeper.observe("graph", BoundedReading(150.0))
    watch = kept.requests[0].watch
    assert watch is not None

    kept.keeper.reset_base(watch)
    for _ in range(5):
        kept.keeper.observe("graph", BoundedReading(140.0))
    kept.keeper.observe("graph", BoundedReading(146.0))

    assert len(kept.requests) == 2


AUTO = Limit("graph", 100, action="auto").spec


def crossed_by_auto(kept: Kept) -> LimitWatch:
    kept.keeper.set_by_script((AUTO,))
    kept.keeper.observe("graph", BoundedReading(150.0))
    watch = kept.requests[-1].watch
    assert watch is not None
    return watch


def test_what_auto_tried_is_told_with_the_reasons_when_nothing_more_helps(kept: Kept):
    watch = crossed_by_auto(kept)
    steps = [kept.keeper.next_step(watch, {"restart": "it cannot be restarted"}) for _ in range(3)]
    kept.keeper.report_exhausted(watch)

    assert steps == ["collect", "reload", "nothing"]
    [notice] = [e for e in kept.events if isinstance(e, Notice)]
    assert notice.code == "nothing_helps"
    assert notice.text.startswith(
        "limit graph 100: nothing helped (collect and reload did not help; restart skipped: it"
        " cannot be restarted). The value is still above"
    )


def test_level_in_its_cooldown_is_asked_for_again_when_that_has_passed(kept: Kept):
    watch = crossed_by_auto(kept)
    kept.keeper.next_step(watch, {})
    kept.keeper.reset_base(watch)
    kept.keeper.observe("graph", BoundedReading(50.0))
    assert kept.keeper.next_step(watch, {}) == "wait"

    for kept.now_s in (1.0, 60.0):
        kept.keeper.observe("graph", BoundedReading(150.0))

    assert len(kept.requests) == 2


def test_process_that_a_limit_had_started_again_is_not_left_at_once_by_the_same_limit(kept: Kept):
    kept.keeper.note_restart("limit graph 100")
    watch = crossed_by_auto(kept)

    assert [kept.keeper.next_step(watch, {}) for _ in range(3)] == ["collect", "reload", "nothing"]
    kept.now_s = 61.0
    assert [kept.keeper.next_step(watch, {}) for _ in range(3)] == ["collect", "reload", "restart"]


def test_limit_whose_own_restart_did_not_help_does_not_ask_for_another(kept: Kept):
    restart = msgspec.structs.replace(GRAPH, action="restart")
    kept.keeper.note_restart("limit graph 100")
    kept.keeper.set_by_script((restart,))

    kept.keeper.observe("graph", BoundedReading(150.0))
    kept.now_s = 61.0
    kept.keeper.observe("graph", BoundedReading(150.0))

    assert kept.requests == []
    assert [e.answered for e in kept.events if isinstance(e, LimitCrossed)] == [False]


def test_limit_by_command_is_held_back_after_its_own_restart_like_one_of_the_script(kept: Kept):
    kept.keeper.note_restart("limit graph 100")
    commanded = msgspec.structs.replace(GRAPH, action="restart", set_by="ada")
    kept.keeper.restore_commanded(SetLimits(["graph"], [commanded]))

    kept.keeper.observe("graph", BoundedReading(150.0))

    assert kept.requests == []


def test_restart_that_somebody_else_asked_for_holds_no_limit_back(kept: Kept):
    kept.keeper.note_restart("ada")
    watch = crossed_by_auto(kept)

    steps = [kept.keeper.next_step(watch, {}) for _ in range(4)]
    assert steps == ["collect", "reload", "restart", "nothing"]


def test_limits_set_by_command_come_with_the_run_into_its_next_process(kept: Kept):
    kept.keeper.set_by_script((GRAPH, RAM))
    moved = LimitSpec(metric="graph", value=500.0, action="auto")
    kept.keeper.set_by_command(SetLimits(["graph"], [moved]), "ada")
    carried = kept.keeper.commanded()
    assert carried is not None

    successor = Kept()
    successor.keeper.set_by_script((GRAPH, RAM))
    successor.keeper.restore_commanded(carried)
    successor.keeper.set_by_script((GRAPH,))

    told = [(s.metric, s.value, s.action, s.set_by) for s in successor.in_force()]
    assert told == [("graph", 500.0, "auto", "ada")]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (LimitSpec(metric="graph"), "either a value or a percentage"),
        (LimitSpec(metric="ram", value=1.0, fraction=0.5), "either a value or a percentage"),
        (LimitSpec(metric="graph", fraction=0.5), "graph has no upper bound"),
        (LimitSpec(metric="ram", fraction=0.5), "not among the metrics"),
    ],
)
def test_limits_that_make_no_sense_are_refused(spec: LimitSpec, says: str):
    assert says in why_limits_invalid(SetLimits(["graph"], [spec]))


def test_limits_that_make_sense_are_not_refused():
    assert why_limits_invalid(SetLimits(["graph"], [GRAPH])) == ""


def test_auto_that_waits_does_nothing_once_its_limit_is_released(kept: Kept):
    kept.keeper.set_by_script((Limit("graph", 100, action="auto", cooldown_s=0).spec,))
    kept.keeper.observe("graph", BoundedReading(150.0))
    watch = kept.requests[-1].watch
    assert watch is not None

    kept.keeper.observe("graph", BoundedReading(50.0))  # a collect of the script came first
    late = kept.keeper.next_step(watch, {})
    kept.keeper.observe("graph", BoundedReading(150.0))
    anew = kept.keeper.next_step(watch, {})

    assert late == "wait"
    assert anew == "collect", "not reload: no collect of this crossing was judged"


def test_what_would_free_memory_is_dropped_once_its_limit_is_released(kept: Kept):
    stop = Limit("graph", 100, action="stop").spec
    kept.keeper.set_by_script((GRAPH, stop))
    kept.keeper.observe("graph", BoundedReading(150.0))
    reload, other = kept.requests
    before = [kept.keeper.why_dropped(each) for each in (reload, other)]
    kept.keeper.observe("graph", BoundedReading(50.0))

    assert before == ["", ""]
    assert kept.keeper.why_dropped(reload) == "the limit is no longer exceeded"
    assert kept.keeper.why_dropped(other) == "", "a stop answers the crossing itself"
    assert kept.keeper.why_dropped(ActionRequest("reload")) == "", "nobody's limit"


def test_what_a_limit_asked_for_is_dropped_when_the_limit_is_changed(kept: Kept):
    kept.keeper.set_by_script((GRAPH,))
    kept.keeper.observe("graph", BoundedReading(150.0))
    higher = LimitSpec(metric="graph", value=500.0, action="reload")
    kept.keeper.set_by_command(SetLimits(["graph"], [higher]), "ada")

    assert kept.keeper.why_dropped(kept.requests[0]) == "the limit was changed in the meantime"


RESTART = Limit("graph", 100, action="restart", cooldown_s=60).spec


def next_process(*, in_vain: int, spec: LimitSpec = RESTART) -> Kept:
    kept = Kept()
    kept.keeper.note_restart("limit graph 100", in_vain)
    kept.keeper.set_by_script((spec,))
    return kept


def restarts_in_vain(kept: Kept) -> int:
    (watch,) = kept.keeper.limit_watches.all_watches()
    return watch.restarts_in_vain


def test_limit_that_two_new_processes_came_near_at_once_asks_for_no_third():
    second = next_process(in_vain=1)
    second.keeper.observe("graph", BoundedReading(97.0))
    second.now_s = 61.0
    second.keeper.observe("graph", BoundedReading(150.0))
    second.now_s = 200.0
    second.keeper.observe("graph", BoundedReading(190.0))

    assert second.requests == []
    assert [e.answered for e in second.events if isinstance(e, LimitCrossed)] == [False]
    (told,) = [e for e in second.events if isinstance(e, Notice)]
    assert told.code == "restarts_in_vain"
    assert told.text.startswith("limit graph 100 triggers no more restarts until it is changed:")


def test_first_new_process_near_its_limit_is_counted_and_may_leave_again():
    first = next_process(in_vain=0)
    first.keeper.observe("graph", BoundedReading(97.0))
    first.keeper.observe("graph", BoundedReading(98.0))
    first.now_s = 61.0
    first.keeper.observe("graph", BoundedReading(150.0))

    assert restarts_in_vain(first) == 1
    assert [r.action for r in first.requests] == ["restart"]


@pytest.mark.parametrize(("epochs", "in_vain"), [(2, 2), (3, 0)])
def test_what_grew_after_the_first_epochs_was_worth_a_restart(epochs: int, in_vain: int):
    second = next_process(in_vain=1)
    second.keeper.observe("graph", BoundedReading(95.0))
    for _ in range(epochs):
        second.keeper.epoch_ended()
    second.keeper.observe("graph", BoundedReading(97.0))

    assert restarts_in_vain(second) == in_vain


def test_limit_that_was_changed_asks_for_restarts_again():
    second = next_process(in_vain=1)
    second.keeper.observe("graph", BoundedReading(150.0))
    higher = msgspec.structs.replace(RESTART, value=120.0)
    second.keeper.set_by_command(SetLimits(["graph"], [higher]), "ada")
    second.keeper.observe("graph", BoundedReading(150.0))

    assert [r.action for r in second.requests] == ["restart"]


def test_auto_leaves_out_a_restart_that_was_in_vain():
    second = next_process(in_vain=1, spec=Limit("graph", 100, action="auto").spec)
    second.keeper.observe("graph", BoundedReading(150.0))
    second.now_s = 1000.0
    second.keeper.observe("graph", BoundedReading(150.0))
    watch = second.requests[0].watch
    assert watch is not None

    steps = [second.keeper.next_step(watch, {}) for _ in range(3)]

    assert steps == ["collect", "reload", "nothing"]
    second.keeper.report_exhausted(watch)
    (told,) = [e for e in second.events if isinstance(e, Notice)]
    assert "restart skipped: the last 2 restarts did not help" in told.text


RAM_RELOAD = Limit("ram", "80%", action="reload").spec


def read(kept: Kept, *held_and_left: tuple[float, float]) -> None:
    """RAM as it is held and left, one reading a second."""
    for held, left in held_and_left:
        kept.now_s += 1.0
        kept.keeper.observe("ram", BoundedReading(held, held + left))


def test_no_reload_is_asked_for_where_others_took_what_was_left(kept: Kept):
    kept.keeper.set_by_script((RAM_RELOAD,))

    read(kept, (4.0, 8.0), (4.0, 4.0), (4.0, 2.0), (4.0, 0.9))

    crossings = [each for each in kept.events if isinstance(each, LimitCrossed)]
    assert [(each.value, each.answered) for each in crossings] == [(4.0, False)]
    [notice] = [each for each in kept.events if isinstance(each, Notice)]
    assert notice.code == "others_took_it"
    assert "other processes used up the memory" in notice.text
    assert kept.requests == []


def test_a_reload_is_asked_for_where_the_run_itself_grew(kept: Kept):
    kept.keeper.set_by_script((RAM_RELOAD,))

    read(kept, (4.0, 8.0), (6.0, 6.0), (8.0, 4.0), (10.0, 2.0))

    assert [each.action for each in kept.requests] == ["reload"]


def test_a_reload_is_asked_for_where_both_grew(kept: Kept):
    kept.keeper.set_by_script((RAM_RELOAD,))

    read(kept, (4.0, 8.0), (5.0, 5.0), (6.0, 2.5), (7.0, 1.0))

    assert [each.action for each in kept.requests] == ["reload"]


def test_limits_on_what_is_counted_are_judged_by_their_part(kept: Kept):
    kept.keeper.set_by_script((Limit("open_files", "80%").spec, Limit("threads", 100).spec))

    kept.keeper.observe("open_files", BoundedReading(570.0, 700.0))
    kept.keeper.observe("threads", BoundedReading(90.0, 30_000.0))

    crossings = [each for each in kept.events if isinstance(each, LimitCrossed)]
    assert [(each.metric, each.threshold) for each in crossings] == [("open_files", 560.0)]
