"""Limits: what may be written, and when a metric has crossed one."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor_agent import Limit
from kmonitor_agent.limits import LimitBook, LimitWatch, limit_text
from kmonitor_agent.protocol.commands import LimitSpec

GIB = 2**30


def watch(value: float = 100.0, **more: Any) -> LimitWatch:
    settings: dict[str, Any] = {"action": "reload", "cooldown_s": 60.0, **more}
    return LimitWatch(LimitSpec(metric="graph", value=value, **settings))


@pytest.mark.parametrize(
    ("metric", "threshold", "value", "fraction"),
    [
        ("ram", "80%", None, 0.8),
        ("vram", "62.5 %", None, 0.625),
        ("ram", "12 GiB", 12 * GIB, None),
        ("ram", "1.5GB", 1.5e9, None),
        ("ram", 2 * GIB, 2 * GIB, None),
        ("graph", "50 k", 50_000, None),
        ("graph", "12 000", 12_000, None),
        ("functions", 700, 700, None),
        ("step_time", "250 ms", 0.25, None),
        ("step_time", "1.5 s", 1.5, None),
        ("step_time", 2, 2.0, None),
    ],
)
def test_threshold_is_read_in_the_metric_s_unit(
    metric: str, threshold: Any, value: float | None, fraction: float | None
):
    spec = Limit(metric, threshold).spec

    assert spec.value == value
    assert spec.fraction == (pytest.approx(fraction) if fraction else None)
    assert (spec.action, spec.hold_s, spec.cooldown_s, spec.set_by) == ("notify", 0, 60, "script")


@pytest.mark.parametrize(
    ("arguments", "more", "says"),
    [
        (("memory", "80%"), {}, 'write one of "ram"'),
        (("ram", "80%"), {"action": "explode"}, 'write one of "notify"'),
        (("graph", "80%"), {}, "nothing bounds graph"),
        (("ram", "120%"), {}, "outside of 0 to 100"),
        (("ram", "much"), {}, '"12 GiB"'),
        (("ram", "12 parsecs"), {}, '"12 GiB"'),
        (("step_time", "3 GiB"), {}, '"250 ms"'),
        (("ram", 0.8), {}, "a part is written as a percentage"),
        (("graph", -5), {}, "a number of operations"),
        (("graph", 1.5), {}, "no whole number"),
        (("graph", float("nan")), {}, "a number of operations"),
        (("ram", "80%"), {"hold_s": -1}, "write seconds"),
        (("ram", "80%"), {"cooldown_s": "1 min"}, "write seconds"),
        (("ram", "80%"), {"hold_s": True}, "write seconds"),
    ],
)
def test_limit_that_makes_no_sense_says_what_to_write(
    arguments: tuple[Any, ...], more: dict[str, Any], says: str
):
    with pytest.raises(ValueError, match=says):
        Limit(*arguments, **more)


def test_threshold_that_is_missing_is_asked_for():
    with pytest.raises(TypeError, match=r'threshold on ram is missing; write .*"80%"'):
        Limit("ram")


def test_threshold_beyond_every_number_is_refused_in_words():
    with pytest.raises(ValueError, match="is no threshold; write"):
        Limit("ram", 10**400)


@pytest.mark.parametrize("threshold", [None, True, [1]])
def test_threshold_that_is_no_number_is_refused(threshold: Any):
    with pytest.raises(TypeError, match="is no number"):
        Limit("ram", threshold)


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


def test_crossing_within_the_cool_down_is_told_and_answered_when_that_is_over():
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
    limit.take_new_base()

    stays = [limit.observe(120, None, float(t)) for t in range(11, 100)]
    grown = limit.observe(126, None, 100.0)

    assert set(stays) == {None}
    assert grown is not None
    assert grown.answered


def test_growth_within_the_cool_down_waits_for_its_end():
    limit = watch(cooldown_s=10.0)
    limit.observe(101, None, 0.0)
    limit.take_new_base()
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
def test_crossings_and_releases_alternate_and_answers_keep_the_cool_down(
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
    book = LimitBook()
    graph, ram = Limit("graph", 100).spec, Limit("ram", "80%").spec
    book.replace(["graph", "ram"], [graph, ram])
    kept = book.watches("graph")[0]

    book.replace(["graph"], [graph])
    assert book.watches("graph") == [kept]

    book.replace(["graph"], [])
    assert book.specs() == [ram]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (LimitSpec(metric="ram", fraction=0.8), "limit ram 80%"),
        (LimitSpec(metric="graph", value=50_000), "limit graph 50 000"),
        (LimitSpec(metric="functions", value=7), "limit functions 7"),
        (LimitSpec(metric="ram", value=577_765_376.0), "limit ram 551 MiB"),
        (LimitSpec(metric="ram", value=12 * 2**30), "limit ram 12 GiB"),
        (LimitSpec(metric="ram", value=1.5 * 2**30), "limit ram 1.5 GiB"),
        (LimitSpec(metric="vram", value=2**30 - 1), "limit vram 1 GiB"),
        (LimitSpec(metric="ram", value=2.5 * 2**20), "limit ram 2.5 MiB"),
        (LimitSpec(metric="ram"), "limit"),
        (LimitSpec(metric="step_time", value=1.5), "limit step_time 1.5 s"),
        (LimitSpec(metric="step_time", value=0.25), "limit step_time 250 ms"),
        (LimitSpec(metric="step_time", value=1e-6), "limit step_time 1 µs"),
    ],
)
def test_limit_names_itself(spec: LimitSpec, text: str):
    assert limit_text(spec) == text


def auto(metric: Any = "graph", *, cooldown_s: float = 60.0) -> LimitWatch:
    return LimitWatch(LimitSpec(metric=metric, value=100.0, action="auto", cooldown_s=cooldown_s))


def act(watch: LimitWatch, t_s: float) -> str:
    """What a safe point does when the watch has asked."""
    assert watch.escalation is not None
    step = watch.escalation.next_step({}, t_s)
    watch.take_new_base()
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


def test_auto_asks_again_once_the_cool_down_of_the_next_level_has_passed():
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
