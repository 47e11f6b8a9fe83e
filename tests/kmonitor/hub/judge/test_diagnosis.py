import pytest

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import (
    PYTHON_VALUES,
    Cause,
    Confidence,
    FirstUnitRise,
    Remedy,
    explain_first_unit,
    explain_growth,
    explain_slowdown,
)
from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.growth import Growth, WhyNot
from kmonitor_agent.wire.messages.events import KeptObjects

GROWING = Growth(None, 3, 30, rise=100.0)
STEADY = Growth(WhyNot.TOO_SMALL, 3, 30)
K = CounterKind


def grew(*kinds: CounterKind) -> list[CounterGrowth]:
    return [CounterGrowth(kind, Slope(3.0, 2.0, 4.0)) for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "cause", "sureness"),
    [
        ([K.TRACES, K.BLOCKS, K.NATIVE_BYTES], Cause.RETRACING, Confidence.COUNTED),
        ([K.TRACES, K.ALLOCATOR_BYTES, K.NATIVE_BYTES], Cause.REBUILT, Confidence.FITTING),
        ([K.RETAINED, K.TRACES, K.BLOCKS], Cause.RETAINED_TRACES, Confidence.COUNTED),
        ([K.BLOCKS, K.NATIVE_BYTES], Cause.PYTHON, Confidence.FITTING),
        ([K.PYTHON_BYTES, K.NATIVE_BYTES], Cause.PYTHON, Confidence.FITTING),
        ([K.ALLOCATOR_BYTES, K.NATIVE_BYTES], Cause.TENSORS, Confidence.FITTING),
        ([K.NATIVE_BYTES], Cause.MALLOC, Confidence.FITTING),
        ([K.FREE_BYTES], Cause.CACHE, Confidence.FITTING),
        ([K.CHILDREN_BYTES], Cause.WORKERS, Confidence.COUNTED),
        ([], Cause.UNKNOWN, Confidence.OPEN),
    ],
)
def test_the_table_of_causes(kinds: list[CounterKind], cause: Cause, sureness: Confidence):
    found = explain_growth(GROWING, grew(*kinds))

    assert found is not None
    assert (found.cause, found.confidence) == (cause, sureness)
    assert found.advice
    is_of_models = cause in {Cause.RETAINED_TRACES, Cause.REBUILT}
    assert (Remedy.COLLECT_EACH in found.advice) == is_of_models


def test_malloc_is_native_code_once_lines_of_python_were_compared():
    found = explain_growth(GROWING, grew(K.NATIVE_BYTES), is_compared=True)

    assert found is not None
    assert (found.cause, found.advice) == (Cause.NATIVE, (Remedy.BISECT, Remedy.RESTART))


def test_nothing_is_made_of_counters_that_do_not_grow():
    found = explain_growth(GROWING, [], is_compared=True)

    assert found is not None
    assert (found.cause, found.because) == (Cause.UNKNOWN, ())


@pytest.mark.parametrize(
    ("name", "cause"), [("one_step_on_data", Cause.REBUILT), ("project", Cause.RETRACING)]
)
def test_traces_of_the_scripts_own_functions_are_no_models(name: str, cause: Cause):
    """Tensors that the traces captured are in the allocator too."""
    traces = CounterGrowth(K.TRACES, Slope(1.0, 1.0, 1.0), name)

    found = explain_growth(GROWING, [traces, *grew(K.ALLOCATOR_BYTES, K.NATIVE_BYTES)])

    assert found is not None
    assert found.cause is cause


def test_the_function_with_most_new_traces_is_named():
    traces = [
        CounterGrowth(K.TRACES, Slope(n, n, n), name)
        for n, name in ((4.0, ""), (1.0, "predict"), (3.0, "augment"))
    ]
    found = explain_growth(GROWING, [*traces, *grew(K.BLOCKS)])

    assert found is not None
    assert found.function == "augment"
    assert found.advice[0] is Remedy.TENSORS_NOT_NUMBERS
    assert {one.kind for one in found.because} == {K.TRACES}


@pytest.mark.parametrize(
    ("names", "per", "cause"),
    [
        (["one_step_on_iterator", ""], "fit", Cause.REBUILT),
        (["one_step_on_iterator", "augment"], "fit", Cause.RETRACING),
        (["one_step_on_iterator"], "epoch", Cause.RETRACING),
        ([""], "fit", Cause.RETRACING),
    ],
)
def test_steps_that_each_fit_leaves_are_of_models_and_not_of_changing_arguments(
    names: list[str], per: str, cause: Cause
):
    traces = [CounterGrowth(K.TRACES, Slope(1.0, 1.0, 1.0), name) for name in names]

    found = explain_growth(GROWING, traces, is_per_fit=per == "fit")

    assert found is not None
    assert found.cause is cause


@pytest.mark.parametrize(
    ("name", "changed", "cause"),
    [
        ("one_step_on_data", PYTHON_VALUES, Cause.REBUILT),
        ("one_step_on_data", "x (8, 64) \u2192 (9, 64)", Cause.RETRACING),
        ("augment", PYTHON_VALUES, Cause.RETRACING),
    ],
)
def test_nobody_passes_python_values_to_the_steps_of_keras(name: str, changed: str, cause: Cause):
    traces = [CounterGrowth(K.TRACES, Slope(1.0, 1.0, 1.0), name)]

    leaks = explain_growth(GROWING, traces, changed={name: changed})
    slows = explain_slowdown(traces, {name: changed})

    assert leaks is not None
    assert slows is not None
    assert leaks.cause is slows.cause is cause
    assert (Remedy.TENSORS_NOT_NUMBERS in leaks.advice) == (name == "augment")


def test_steps_that_slow_down_from_model_to_model_are_told_as_models():
    traces = [CounterGrowth(K.TRACES, Slope(2.0, 2.0, 2.0), "one_step_on_data")]

    found = explain_slowdown(traces, is_per_fit=True)

    assert found is not None
    assert (found.cause, found.confidence) == (Cause.REBUILT, Confidence.FITTING)
    assert Remedy.TENSORS_NOT_NUMBERS not in found.advice


PROBES = KeptObjects("tf.function", 20, container="list", place="train.probes")


@pytest.mark.parametrize(
    ("changed", "first"),
    [(PYTHON_VALUES, Remedy.FUNCTION_ONCE), ("x (8, 64) \u2192 (9, 64)", Remedy.ONE_SHAPE)],
)
def test_a_place_that_keeps_new_functions_is_named_and_creating_one_comes_first(
    changed: str, first: Remedy
):
    grew_with = [
        CounterGrowth(K.TRACES, Slope(1.0, 1.0, 1.0), "probe"),
        CounterGrowth(K.KEPT_OBJECTS, Slope(1.0, 1.0, 1.0), kept=PROBES),
    ]

    found = explain_growth(GROWING, grew_with, changed={"probe": changed})

    assert found is not None
    assert found.cause is Cause.RETRACING
    assert found.advice[0] is first
    assert Remedy.TENSORS_NOT_NUMBERS not in found.advice
    assert found.kept == (PROBES if first is Remedy.FUNCTION_ONCE else None)


def test_a_function_may_be_made_anew_where_no_tensor_differs():
    traces = [CounterGrowth(K.TRACES, Slope(1.0, 1.0, 1.0), "fresh")]

    found = explain_growth(GROWING, traces, changed={"fresh": PYTHON_VALUES})

    assert found is not None
    assert found.advice[:2] == (Remedy.TENSORS_NOT_NUMBERS, Remedy.FUNCTION_ONCE)
    assert Remedy.DIAGNOSE in found.advice


def test_no_function_is_named_where_none_is_known():
    retracing = explain_growth(GROWING, grew(K.TRACES))
    native = explain_growth(GROWING, grew(K.NATIVE_BYTES))

    assert retracing is not None
    assert retracing.function is None
    assert native is not None
    assert native.function is None


def test_a_data_set_that_was_read_once_needs_nothing():
    found = explain_first_unit(FirstUnitRise(rise=900.0, later_rise=10.0))

    assert found is not None
    assert (found.cause, found.confidence) == (Cause.DATA_CACHE, Confidence.FITTING)
    assert found.because[0].per_unit.middle == 900.0
    assert found.advice == ()


@pytest.mark.parametrize(
    "first",
    [None, FirstUnitRise(0.0, 0.0), FirstUnitRise(10.0, 90.0), FirstUnitRise(900.0, -800.0)],
)
def test_what_is_not_kept_or_goes_on_is_no_data_set(first: FirstUnitRise | None):
    assert explain_first_unit(first) is None


def test_nothing_is_named_where_nothing_grows():
    assert explain_growth(STEADY, ()) is None
