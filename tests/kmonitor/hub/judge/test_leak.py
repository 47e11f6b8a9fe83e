from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.hub.judge.counters import Counter, CounterKind, counter_growth
from kmonitor.hub.judge.detectors import (
    ALARMED,
    TO_ALARM,
    TO_CLEAR,
    GrowthState,
    Judgement,
    UnitKind,
    as_if_of_one_kind,
    next_judgement,
    next_slowdown_judgement,
    unit_of,
)
from kmonitor.hub.judge.growth import RAM_FLOOR, Growth, judge_growth

MIB = 2.0**20
LINE = (1000.0 + 8.0 * np.arange(60.0)) * MIB
FLAT = np.full(60, 1000.0 * MIB)
GROWN = judge_growth(LINE, RAM_FLOOR)


def replay(
    values: np.ndarray,
    *counters: Counter,
    before: Judgement | None = None,
    room: float | None = None,
) -> list[Judgement]:
    verdict, told = before or Judgement(), list[Judgement]()
    for n in range(1, len(values) + 1):
        seen = [Counter(one.kind, one.values[:n], one.function) for one in counters]
        verdict = next_judgement(verdict, values[:n], seen, room=room)
        told.append(verdict)
    return told


NOISY = LINE + np.random.default_rng(4).normal(0.0, 1.5, 60) * MIB


def test_what_rises_is_rising_until_it_is_judged_and_never_steady():
    states = [one.state for one in replay(NOISY)]

    assert states[:3] == [GrowthState.MEASURING] * 3
    assert set(states[4:13]) == {GrowthState.RISING}
    assert set(states[13:]) == {GrowthState.GROWING}
    assert replay(FLAT)[9].state is GrowthState.STEADY


@pytest.mark.parametrize("room", [None, 0.0, 64 * MIB])
def test_what_stays_at_nothing_is_steady(room: float | None):
    assert replay(np.zeros(12), room=room)[9].state is GrowthState.STEADY


def test_what_adds_the_same_each_time_grows_from_the_sixth_unit_on():
    states = [one.state for one in replay(LINE)]

    assert states.index(GrowthState.GROWING) == 5
    assert set(states[5:]) == {GrowthState.GROWING}


def test_what_rose_at_first_and_no_more_is_not_growing():
    values = np.concatenate((NOISY[:8], NOISY[:1].repeat(12)))

    assert replay(values)[-1].state is GrowthState.STEADY


def test_growth_is_told_after_five_judgements_in_a_row():
    """The first with ten units, unless each unit adds the same."""
    states = [one.state for one in replay(NOISY)]

    assert states.index(GrowthState.GROWING) == 9 + TO_ALARM - 1


@pytest.mark.parametrize("room", [None, 500.0 * MIB])
def test_what_would_fill_the_room_in_ten_times_as_long_is_not_steady(room: float | None):
    """Its interval holds a change of 1 MiB a unit: 600 MiB in 600 units."""
    values = FLAT + np.random.default_rng(3).normal(0.0, 40.0, 60) * MIB
    told = replay(values, room=room)[-1]

    assert told.growth is not None
    assert told.growth.slope is not None
    high_mib = told.growth.slope.high / MIB
    is_steady = high_mib * 600.0 < (1000.0 if room is None else 500.0)
    assert (told.state is GrowthState.STEADY) == is_steady
    assert told.state in {GrowthState.STEADY, GrowthState.MEASURING}


def test_traces_that_two_units_left_behind_are_a_leak_at_once():
    """The first unit's model lives while it is counted."""
    retained = Counter(CounterKind.RETAINED, 16.0 * np.arange(60.0), "train_function")
    states = [one.state for one in replay(NOISY, retained)]

    assert states[2] is GrowthState.SUSPECTED
    assert set(states[2:]) == {GrowthState.SUSPECTED}
    assert replay(NOISY, retained)[2].grew_with[0].per_unit.middle == 16.0


def test_traces_that_are_counted_once_or_cost_nothing_are_none():
    once = Counter(CounterKind.RETAINED, np.where(np.arange(60.0) > 1, 16.0, 0.0))
    each = Counter(CounterKind.RETAINED, 16.0 * np.arange(60.0))

    assert GrowthState.SUSPECTED not in {one.state for one in replay(FLAT, once)}
    assert GrowthState.SUSPECTED not in {one.state for one in replay(FLAT, each)}


def test_an_ensemble_of_five_models_is_a_count_and_no_leak():
    units = np.arange(30.0)
    values = (1000.0 + 40.0 * np.minimum(units, 5.0)) * MIB
    values += np.random.default_rng(5).normal(0.0, 1.5, 30) * MIB
    traces = Counter(CounterKind.TRACES, 16.0 * np.minimum(units, 5.0), "train_function")
    told = replay(values, traces)

    assert not any(one.state in ALARMED for one in told)
    assert told[2].state is GrowthState.RISING
    assert told[4].state is GrowthState.RISING
    assert told[4].grew_with[0].function == "train_function"


def test_functions_of_data_pipelines_explain_no_growth():
    traces = Counter(CounterKind.TRACES, 3.0 * np.arange(60.0), "Dataset_map_<lambda>")

    assert replay(LINE, traces)[-1].grew_with == ()


def test_traces_that_each_of_six_units_added_are_growth_that_goes_on():
    traces = Counter(CounterKind.TRACES, 1.0 + np.arange(60.0), "train_function")
    told = replay(NOISY, traces)

    assert [one.state for one in told].index(GrowthState.GROWING) == 6
    assert [one.kind for one in told[6].grew_with] == [CounterKind.TRACES]


@pytest.mark.parametrize(
    ("regions", "first"),
    [
        (46.0 + 25.0 * np.arange(60.0), 7),  # a program a unit
        (np.repeat(np.arange(15.0) * 250.0, 4), 8),  # read in each fourth unit
        (np.where(np.arange(60) < 1, 0.0, 46.0), 13),  # compiled once
        (np.where(np.arange(60) < 3, 46.0, 71.0), 13),  # and once more, to evaluate
    ],
)
def test_code_that_is_compiled_again_and_again_is_growth_that_goes_on(
    regions: np.ndarray, first: int
):
    told = replay(NOISY, Counter(CounterKind.CODE, regions))

    assert [one.state for one in told].index(GrowthState.GROWING) == first
    assert any(one.kind is CounterKind.CODE for one in told[first].grew_with) == (first < 13)


def test_growth_that_slows_down_is_said_to_and_no_longer_growing_only_when_it_ends():
    units = np.arange(120.0)
    slower = 1000.0 + 10.0 * np.minimum(units, 40.0) + 4.0 * np.clip(units - 40.0, 0.0, 40.0)
    states = [one.state for one in replay(slower * MIB)]

    assert states[40] is GrowthState.GROWING
    assert GrowthState.SLOWING in states[41:80]
    assert GrowthState.CLEARED not in states[:60]
    assert states[-1] is GrowthState.CLEARED


def test_growth_does_not_level_off_while_models_leave_traces():
    """Some units were not read: their end came before the traces were counted."""
    units = np.arange(70.0)
    slower = 1000.0 + 10.0 * np.minimum(units, 40.0) + 4.0 * np.clip(units - 40.0, 0.0, 40.0)
    traces = np.where(units % 4 == 1, np.nan, 3.0 * units)
    states = [one.state for one in replay(slower * MIB, Counter(CounterKind.TRACES, traces))]

    assert GrowthState.SLOWING not in states
    assert states[-1] is GrowthState.SUSPECTED


def test_garbage_that_is_collected_now_and_then_clears_no_leak():
    """A loop of models: 8 MiB a fit, of which a collection gives a part back every 40 fits."""
    units = np.arange(280.0)
    states = [one.state for one in replay((500.0 + 8.0 * units - 96.0 * (units // 40)) * MIB)]

    assert set(states[13:]) == {GrowthState.GROWING}


def test_a_leak_that_paused_now_and_then_is_cleared_once_it_stops():
    units = np.arange(160.0)
    grown = (500.0 + 8.0 * units - 96.0 * (units // 40)) * MIB
    states = [one.state for one in replay(np.concatenate((grown, np.full(30, grown[-1]))))]

    assert states[159] is GrowthState.GROWING
    assert states[-1] is GrowthState.CLEARED


@pytest.mark.parametrize("n_teeth", [1, 2, 3])
def test_a_leak_that_ends_with_a_fall_is_cleared_as_soon_as_others(n_teeth: int):
    units = np.arange(40.0 * n_teeth)
    grown = 500.0 + 8.0 * units - 96.0 * (units // 40)
    states = [one.state for one in replay(np.append(grown, [grown[-1] - 96.0] * 20) * MIB)]

    assert states[len(units) - 1] is GrowthState.GROWING
    assert states[-1] is GrowthState.CLEARED


def test_growth_that_was_given_back_is_cleared_while_it_comes_again():
    units = np.arange(90.0)
    states = [one.state for one in replay((500.0 + 8.0 * (units % 60)) * MIB)]

    assert states[59] is GrowthState.GROWING
    assert GrowthState.CLEARED in states[60:70]
    assert states[70] is GrowthState.RISING


def test_a_leak_is_suspected_only_with_a_counter_and_twenty_units():
    traces = Counter(CounterKind.TRACES, 3.0 * np.arange(60.0), "train_step")
    with_cause = replay(LINE, traces)

    assert GrowthState.SUSPECTED not in {one.state for one in replay(LINE)}
    assert with_cause[18].state is GrowthState.GROWING
    assert with_cause[19].state is GrowthState.SUSPECTED
    assert with_cause[19].grew_with[0].function == "train_step"
    assert with_cause[19].grew_with[0].per_unit.middle == 3.0


def test_flat_memory_is_steady_though_a_counter_grows():
    traces = Counter(CounterKind.TRACES, 3.0 * np.arange(60.0))

    assert replay(FLAT, traces)[-1] == Judgement(GrowthState.STEADY, judge_growth(FLAT, RAM_FLOOR))


def test_an_alarm_clears_soon_after_growth_stops_and_stays_cleared():
    values = (1000.0 + 8.0 * np.minimum(np.arange(90.0), 59.0)) * MIB
    states = [one.state for one in replay(values)]

    assert states[59] is GrowthState.GROWING
    cleared = states.index(GrowthState.CLEARED)
    assert 60 + TO_CLEAR <= cleared <= 60 + 20
    assert set(states[cleared:]) == {GrowthState.CLEARED}


def test_the_evidence_stays_while_judgements_begin_to_contradict():
    growing = Judgement(GrowthState.GROWING, GROWN, alarmed_units=7)
    told = next_judgement(growing, FLAT)

    assert (told.state, told.in_a_row, told.alarmed_units) == (GrowthState.GROWING, 1, 8)
    assert told.growth is GROWN
    assert next_judgement(told, LINE).in_a_row == 0


def test_an_alarm_stands_over_a_restart_until_it_was_judged_anew():
    alarmed = replay(LINE)[-1]
    anew = replay(FLAT[:13], before=alarmed)

    assert {one.state for one in anew[: 9 + TO_CLEAR - 1]} == {GrowthState.GROWING}
    assert anew[9 + TO_CLEAR - 1].state is GrowthState.CLEARED
    assert (
        replay(FLAT[:1], before=Judgement(GrowthState.CLEARED))[-1].state is GrowthState.MEASURING
    )


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10_000), slope=st.floats(-10.0, 10.0))
def test_every_path_goes_through_states_that_follow_each_other(seed: int, slope: float):
    rng = np.random.default_rng(seed)
    values = (900.0 + slope * np.arange(40.0) + rng.normal(0.0, 3.0, 40)) * MIB
    told = [Judgement(), *replay(values)]

    for before, after in pairwise(told):
        if after.state in ALARMED and before.state not in ALARMED:
            assert before.in_a_row + before.in_row_before == TO_ALARM - 1
        if after.state is GrowthState.CLEARED:
            assert before.state in {*ALARMED, GrowthState.CLEARED}
        assert (after.alarmed_units > 0) == (after.state in ALARMED)


def test_falling_memory_never_alarms():
    assert not any(one.state in ALARMED for one in replay(LINE[::-1]))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (CounterKind.TRACES, 0.2 * np.arange(60.0)),
        (CounterKind.TRACES, np.full(60, 7.0)),
        (CounterKind.BLOCKS, 3e6 * np.minimum(np.arange(60.0), 42.0)),
        (CounterKind.NATIVE_BYTES, 2.0 * MIB * np.arange(60.0)),
        (CounterKind.TRACES, np.full(60, np.nan)),
    ],
    ids=["slowly", "not", "not any more", "a quarter of it", "never read"],
)
def test_a_counter_does_not_count_as_growing(kind: CounterKind, values: np.ndarray):
    assert counter_growth(Counter(kind, values), GROWN) is None


def test_bytes_count_if_they_are_a_fair_share():
    values = 6.0 * MIB * np.arange(60.0)
    values[50::3] = np.nan
    found = counter_growth(Counter(CounterKind.NATIVE_BYTES, values), GROWN)
    mute = counter_growth(Counter(CounterKind.NATIVE_BYTES, values), Growth(None, 9, 59))

    assert found is not None
    assert found.per_unit.middle == 6.0 * MIB
    assert mute is not None


def test_a_counter_that_is_not_read_late_is_judged_by_what_is_there():
    values = 3.0 * np.arange(60.0)
    values[40:] = np.nan

    assert counter_growth(Counter(CounterKind.TRACES, values), GROWN) is not None


def test_units_are_fits_or_folds_where_there_are_several():
    assert unit_of(n_fits=2) is UnitKind.EPOCH
    assert unit_of(n_fits=3) is UnitKind.FIT
    assert unit_of(n_fits=5, n_folds=5) is UnitKind.FOLD


def test_steps_that_take_longer_are_told_and_a_slower_clock_is_not():
    slower, same = Judgement(), Judgement()
    for n in range(10, 40):
        slower = next_slowdown_judgement(slower, 0.05 * (1.0 + 0.01 * np.arange(float(n))))
        same = next_slowdown_judgement(same, 0.05 * (1.0 + 0.001 * np.arange(float(n))))

    assert slower.state is GrowthState.GROWING
    assert same.state is GrowthState.STEADY


def test_a_larger_model_is_compared_with_its_own_kind_only():
    """Firsts of kind a: 1, 2, 3 (median 2); of b: 10, 20 (median 15)."""
    found = as_if_of_one_kind(np.array([1.0, 10.0, 2.0, 3.0, 20.0, 8.0]), list("abaaba"))

    np.testing.assert_allclose(found, [1.0, 10 * 2 / 15, 2.0, 3.0, 20 * 2 / 15, 8.0])


def test_times_of_models_of_one_kind_stay_as_measured():
    step_s = np.array([0.2, 0.2, 0.3, 3.0, 3.0, 3.1])

    np.testing.assert_allclose(as_if_of_one_kind(step_s, ["a"] * 6), step_s)


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_steps_that_vary_about_their_time_are_steady(noise: float):
    """A machine with other work makes some of them longer; only a trend would matter."""
    states: list[GrowthState] = []
    for seed in range(40):
        longer = np.abs(np.random.default_rng(seed).standard_normal(30))
        judgement = Judgement()
        for n in range(1, 31):
            judgement = next_slowdown_judgement(judgement, 0.05 * (1.0 + noise * longer[:n]))
        states.append(judgement.state)

    assert states.count(GrowthState.STEADY) >= 36
    assert GrowthState.GROWING not in states


def test_steps_that_became_longer_by_a_quarter_are_called_slower():
    judgement = Judgement()
    for n in range(6, 61):
        judgement = next_slowdown_judgement(judgement, 0.05 * np.linspace(1.0, 1.25, 60)[:n])

    assert judgement.state is GrowthState.GROWING


def test_growth_of_the_same_size_after_jumps_of_a_pool_is_called_after_eight_units():
    steps = np.array([28.0, 8.0, 5.0, 4.0, 45.0, 4.0, 8.0, 82.0, *[8.1] * 16])
    values = (298.0 + np.cumsum(steps)) * MIB

    states = [one.state for one in replay(values)]

    assert states[15:] == [GrowthState.GROWING] * len(states[15:])


def test_jumps_that_end_are_no_growth():
    steps = np.array([28.0, 8.0, 5.0, 4.0, 45.0, 4.0, 8.0, 82.0, *[8.1] * 5, *[0.0] * 20])
    values = (298.0 + np.cumsum(steps)) * MIB

    assert replay(values)[-1].state not in ALARMED


def test_the_cause_stays_while_it_goes_on_though_its_share_varies():
    rises = np.array([3.9] * 2 + [14.4, 3.9, 3.8, 24.5, *[3.8] * 4, 40.4, *[3.6] * 28])
    held = np.array([2.0 + 1.76 * unit for unit in range(39)])
    copies = np.array([34.0 if unit < 18 else 66.0 for unit in range(39)])
    used = np.where(np.arange(39) % 2, np.maximum(held, copies), held)
    counter = Counter(CounterKind.ALLOCATOR_BYTES, used * MIB)

    states = replay((261.5 + np.cumsum(rises)) * MIB, counter)

    named = [bool(one.grew_with) for one in states if one.state in ALARMED]
    assert len(named) > 10
    assert all(named[named.index(True) :])


def test_what_rises_is_no_more_steady_though_its_interval_widens():
    values = np.array([264.3, 267.7, 271.1, 274.4, 289.2, 292.5, 295.4, 298.8, 307.8, 308.2])
    last = np.array([310.6, 310.9, 313.5, 314.1, 316.4])
    series = np.concatenate((values, last)) * MIB
    states = [one.state for one in replay(series, room=8e9)]

    turns = sum(a is GrowthState.RISING and b is GrowthState.STEADY for a, b in pairwise(states))
    assert turns == 0
