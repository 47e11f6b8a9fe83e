"""When a metric has crossed a limit, and when that is answered."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor_agent import Limit
from kmonitor_agent.limit_watch import LimitWatch, LimitWatches
from kmonitor_agent.wire.messages.commands import LimitSpec


def watch(value: float = 100.0, **more: Any) -> LimitWatch:
    settings: dict[str, Any] = {"action": "reload", "cooldown_s": 60.0, **more}
    return LimitWatch(LimitSpec(metric="graph", value=value, **settings))


def test_value_above_the_threshold_crosses_once():
    limit = watch()

    first, second = limit.observe(101, None, 0.0), limit.observe(101, None, 1.0)

    assert first is not None
    assert (first.crossed, first.answered, first.value, first.threshold) == (True, True, 101, 100)
    assert second is None
    assert limit.is_crossed


def test_value_must_stay_above_for_the_hold_time():
    limit = watch(hold_s=10.0)

    assert limit.observe(101, None, 0.0) is None
    assert limit.observe(99, None, 5.0) is None
    assert limit.observe(101, None, 6.0) is None
    assert limit.observe(101, None, 15.9) is None
    assert limit.observe(101, None, 16.0) is not None


def test_crossing_is_released_only_well_below_the_threshold():
    limit = watch()
    limit.observe(101, None, 0.0)

    assert limit.observe(96, None, 1.0) is None
    released = limit.observe(95, None, 2.0)

    assert released is not None
    assert not released.crossed


def test_crossing_within_the_cooldown_is_told_and_answered_when_that_is_over():
    limit = watch()
    limit.observe(101, None, 0.0)
    limit.observe(50, None, 1.0)

    during = limit.observe(101, None, 30.0)
    after = limit.observe(101, None, 60.0)

    assert during is not None
    assert not during.answered
    assert after is not None
    assert after.answered


def test_memory_that_stays_after_an_answer_does_not_fire_again_until_it_grows():
    limit = watch(cooldown_s=10.0)
    limit.observe(140, None, 0.0)
    limit.reset_base()

    stays = [limit.observe(120, None, float(t)) for t in range(11, 100)]
    grown = limit.observe(126, None, 100.0)

    assert set(stays) == {None}
    assert grown is not None
    assert grown.answered


def test_growth_within_the_cooldown_waits_for_its_end():
    limit = watch(cooldown_s=10.0)
    limit.observe(101, None, 0.0)
    limit.reset_base()
    limit.observe(101, None, 1.0)

    assert limit.observe(200, None, 9.9) is None
    assert limit.observe(200, None, 10.0) is not None


def test_limit_whose_answer_still_waits_is_not_answered_again():
    limit = watch(cooldown_s=0.0)
    limit.observe(101, None, 0.0)

    assert limit.observe(300, None, 50.0) is None


@pytest.mark.parametrize("action", ["notify", "save", "stop"])
def test_action_that_frees_nothing_is_not_repeated(action: str):
    limit = watch(action=action, cooldown_s=0.0)
    limit.observe(101, None, 0.0)

    assert limit.observe(500, None, 100.0) is None


def test_percentage_is_of_the_bound_and_waits_for_one():
    limit = LimitWatch(LimitSpec(metric="ram", fraction=0.8))

    assert limit.observe(90, None, 0.0) is None
    assert limit.threshold(None) is None
    assert limit.observe(79, 100, 1.0) is None
    assert limit.observe(81, 100, 2.0) is not None


@pytest.mark.parametrize("value", [None, float("nan")])
def test_absent_reading_is_not_judged(value: float | None):
    limit = watch()
    limit.observe(101, None, 0.0)

    assert limit.observe(value, None, 1.0) is None
    assert limit.is_crossed


@given(
    st.lists(st.tuples(st.floats(0, 300), st.floats(0.01, 30)), max_size=60),
    st.floats(0, 20),
    st.floats(0, 60),
)
def test_crossings_and_releases_alternate_and_answers_keep_the_cooldown(
    steps: list[tuple[float, float]], hold_s: float, cooldown_s: float
):
    limit = watch(hold_s=hold_s, cooldown_s=cooldown_s)
    t_s, crossed, answers = 0.0, False, list[float]()

    for value, pause_s in steps:
        t_s += pause_s
        event = limit.observe(value, None, t_s)
        if event is None:
            continue
        if not event.crossed:
            assert crossed
        crossed = event.crossed
        if event.crossed and event.answered:
            answers.append(t_s)

    assert all(b - a >= cooldown_s for a, b in itertools.pairwise(answers))
    assert limit.is_crossed == crossed


def test_book_replaces_the_named_metrics_and_keeps_the_state_of_equal_limits():
    book = LimitWatches()
    graph, ram = Limit("graph", 100).spec, Limit("ram", "80%").spec
    book.replace(["graph", "ram"], [graph, ram])
    kept = book.watches("graph")[0]

    book.replace(["graph"], [graph])
    assert book.watches("graph") == [kept]

    book.replace(["graph"], [])
    assert book.specs() == [ram]


def auto(metric: Any = "graph", *, cooldown_s: float = 60.0) -> LimitWatch:
    return LimitWatch(LimitSpec(metric=metric, value=100.0, action="auto", cooldown_s=cooldown_s))


def act(watch: LimitWatch, t_s: float) -> str:
    """Step of a safe point after a request by the watch."""
    assert watch.escalation is not None
    step = watch.escalation.next_step({}, t_s)
    watch.reset_base()
    return step


@pytest.mark.parametrize("metric", ["graph", "functions", "step_time"])
def test_auto_takes_the_next_level_when_the_first_reading_is_not_below_the_release(metric: Any):
    limit = auto(metric)
    assert limit.observe(120.0, None, 0.0)
    act(limit, 0.0)

    again = limit.observe(96.0, None, 1.0)

    assert again is not None
    assert (again.crossed, again.answered, again.action) == (True, True, "auto")
    assert act(limit, 1.0) == "reload"


def test_auto_waits_for_growth_where_freed_memory_stays_with_the_process():
    limit = auto("ram")
    assert limit.observe(120.0, None, 0.0)
    act(limit, 0.0)

    asked = [limit.observe(value, None, 1.0 + n) for n, value in enumerate([121.0, 124.0, 126.5])]

    assert [each is not None for each in asked] == [False, False, True]
    assert act(limit, 4.0) == "reload"


def test_auto_begins_with_the_first_level_again_after_a_release():
    limit = auto(cooldown_s=10.0)
    limit.observe(120.0, None, 0.0)
    act(limit, 0.0)
    released = limit.observe(90.0, None, 1.0)
    assert released is not None
    assert not released.crossed

    within = limit.observe(120.0, None, 2.0)
    after = limit.observe(120.0, None, 10.0)

    assert within is not None
    assert after is not None
    assert (within.answered, after.answered) == (False, True)
    assert act(limit, 10.0) == "collect"


def test_auto_is_not_asked_again_after_nothing_helped_until_it_grew_anew():
    limit = auto(cooldown_s=0.0)
    limit.observe(120.0, None, 0.0)
    steps = [act(limit, 0.0)]
    for t_s in (1.0, 2.0, 3.0):
        assert limit.observe(120.0, None, t_s)
        steps.append(act(limit, t_s))

    asked = [limit.observe(value, None, 10.0 + n) for n, value in enumerate([120.0, 124.0, 126.0])]

    assert steps == ["collect", "reload", "restart", "nothing"]
    assert [each is not None for each in asked] == [False, False, True]
    assert act(limit, 12.0) == "collect"


def test_auto_asks_again_once_the_cooldown_of_the_next_level_has_passed():
    limit = auto(cooldown_s=60.0)
    assert limit.escalation is not None
    limit.observe(120.0, None, 0.0)
    act(limit, 0.0)
    limit.wait_for_level()

    assert limit.observe(120.0, None, 1.0), "reload was not done yet"
    assert act(limit, 1.0) == "reload"
    limit.observe(90.0, None, 2.0)
    assert limit.observe(120.0, None, 61.0)
    assert act(limit, 61.0) == "collect"
    limit.observe(120.0, None, 61.0)
    limit.wait_for_level()
    assert limit.escalation.next_step({}, 61.0) == "reload"


def started_again() -> LimitWatch:
    """A limit in the process that its own restart began, whose cooldown lasts for 60 s."""
    limit = watch(action="restart")
    limit.started_again(0.0)
    return limit


def test_restart_that_did_not_help_is_not_asked_for_again_before_the_metric_grew():
    limit = started_again()
    told = [limit.observe(value, None, t_s) for t_s, value in enumerate((120.0, 130.0, 130.0))]
    assert [event and event.answered for event in told] == [False, None, None]

    assert limit.observe(130.0, None, 61.0) is None
    assert limit.observe(135.0, None, 62.0) is None
    event = limit.observe(136.0, None, 63.0)
    assert event is not None
    assert event.answered


def test_restart_that_helped_is_asked_for_again_once_its_cooldown_is_over():
    limit = started_again()
    assert limit.observe(60.0, None, 0.0) is None

    told = [limit.observe(101.0, None, t_s) for t_s in (30.0, 59.0, 60.0)]

    assert [event and event.answered for event in told] == [False, None, True]


def test_limit_that_a_process_begins_above_is_released_as_any_other():
    limit = started_again()
    limit.observe(120.0, None, 0.0)

    released = limit.observe(90.0, None, 1.0)
    assert released is not None
    assert not released.crossed
    again = limit.observe(101.0, None, 61.0)
    assert again is not None
    assert again.answered


def test_percentage_that_has_no_bound_yet_is_judged_when_it_has_one():
    limit = LimitWatch(LimitSpec(metric="ram", fraction=0.5, action="restart"))
    limit.started_again(0.0)
    assert limit.observe(90.0, None, 0.0) is None

    event = limit.observe(90.0, 100.0, 1.0)

    assert event is not None
    assert not event.answered
