"""The run's limits: who set them, what survives, what a crossing asks for."""

import pytest

from kmonitor_agent.limits import Limit
from kmonitor_agent.protocol.commands import LimitSpec, SetLimits
from kmonitor_agent.protocol.facts import Event, LimitCrossed, LimitsInForce, Notice
from kmonitor_agent.session.limit_keeper import Bound, LimitKeeper, refusal_of
from kmonitor_agent.session.requests import Request


class Kept:
    """A keeper, and what came out of it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.requests: list[Request] = []
        self.now_s = 0.0
        self.keeper = LimitKeeper(
            emit=self.events.append, request=self._take, now_s=lambda: self.now_s
        )

    def _take(self, request: Request) -> bool:
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

    kept.keeper.observe("graph", Bound(150.0))

    crossings = [e for e in kept.events if isinstance(e, LimitCrossed)]
    assert [(c.metric, c.value, c.threshold) for c in crossings] == [("graph", 150.0, 100.0)]
    assert [(r.action, r.asked_by, r.at) for r in kept.requests] == [
        ("reload", "limit graph 100", "epoch")
    ]


def test_notify_is_told_and_nothing_done(kept: Kept):
    kept.keeper.set_by_script((RAM,))

    kept.keeper.observe("ram", Bound(90.0, 100.0))

    assert any(isinstance(e, LimitCrossed) for e in kept.events)
    assert kept.requests == []


def test_same_limits_of_the_next_callback_keep_their_cool_down(kept: Kept):
    kept.keeper.set_by_script((GRAPH,))
    kept.keeper.observe("graph", Bound(150.0))
    kept.keeper.observe("graph", Bound(50.0))

    kept.keeper.set_by_script((GRAPH,))
    kept.now_s = 1.0
    kept.keeper.observe("graph", Bound(150.0))

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
        kept.keeper.observe("vram", Bound(5.0))
    kept.keeper.observe("vram", Bound(None))

    notices = [e for e in kept.events if isinstance(e, Notice)]
    assert [n.code for n in notices] == ["limit_unbounded"]
    assert "Set it in bytes" in notices[0].text


def test_after_an_answer_growth_counts_from_the_new_base(kept: Kept):
    spec = Limit("graph", 100, action="reload", cooldown_s=0).spec
    kept.keeper.set_by_script((spec,))
    kept.keeper.observe("graph", Bound(150.0))
    watch = kept.requests[0].watch
    assert watch is not None

    kept.keeper.take_new_base(watch)
    for _ in range(5):
        kept.keeper.observe("graph", Bound(140.0))
    kept.keeper.observe("graph", Bound(146.0))

    assert len(kept.requests) == 2


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (LimitSpec(metric="graph"), "either a value or a percentage"),
        (LimitSpec(metric="ram", value=1.0, fraction=0.5), "either a value or a percentage"),
        (LimitSpec(metric="graph", fraction=0.5), "nothing bounds graph"),
        (LimitSpec(metric="ram", fraction=0.5), "not among the metrics"),
    ],
)
def test_limits_that_make_no_sense_are_refused(spec: LimitSpec, says: str):
    assert says in refusal_of(SetLimits(["graph"], [spec]))


def test_limits_that_make_sense_are_not_refused():
    assert refusal_of(SetLimits(["graph"], [GRAPH])) == ""
