import pytest

from kmonitor.analysis.counters import CounterGrowth, CounterKind
from kmonitor.analysis.diagnosis import Advice, Cause, FirstUnit, Sureness, diagnose
from kmonitor.analysis.growth import Growth, WhyNot
from kmonitor.analysis.trend import Slope

GROWING = Growth(None, 3, 30, rise=100.0)
STEADY = Growth(WhyNot.TOO_SMALL, 3, 30)
ALL_READ = frozenset(CounterKind)
K = CounterKind


def grew(*kinds: CounterKind) -> list[CounterGrowth]:
    return [CounterGrowth(kind, Slope(3.0, 2.0, 4.0)) for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "cause", "sureness"),
    [
        ([K.TRACES, K.OBJECTS, K.NATIVE_BYTES], Cause.RETRACING, Sureness.COUNTED),
        ([K.TRACES, K.TENSORS, K.OBJECTS, K.NATIVE_BYTES], Cause.REBUILT, Sureness.FITTING),
        ([K.RETAINED, K.TRACES, K.TENSORS], Cause.RETAINED_TRACES, Sureness.COUNTED),
        ([K.OBJECTS, K.NATIVE_BYTES], Cause.PYTHON, Sureness.FITTING),
        ([K.TENSORS, K.NATIVE_BYTES], Cause.PYTHON, Sureness.FITTING),
        ([K.NATIVE_BYTES], Cause.NATIVE, Sureness.FITTING),
        ([K.CHILDREN_BYTES], Cause.WORKERS, Sureness.COUNTED),
        ([], Cause.CACHE, Sureness.FITTING),
    ],
)
def test_the_table_of_causes(kinds: list[CounterKind], cause: Cause, sureness: Sureness):
    found = diagnose(GROWING, grew(*kinds), ALL_READ)

    assert found is not None
    assert (found.cause, found.sureness) == (cause, sureness)
    assert found.advice


def test_what_was_not_read_is_no_proof_that_it_is_flat():
    found = diagnose(GROWING, [], ALL_READ - {K.NATIVE_BYTES})

    assert found is not None
    assert (found.cause, found.sureness) == (Cause.UNKNOWN, Sureness.OPEN)
    assert found.because == ()


def test_the_function_with_most_new_traces_is_named():
    traces = [
        CounterGrowth(K.TRACES, Slope(n, n, n), name)
        for n, name in ((4.0, ""), (1.0, "predict"), (3.0, "augment"))
    ]
    found = diagnose(GROWING, [*traces, *grew(K.OBJECTS)], ALL_READ)

    assert found is not None
    assert found.function == "augment"
    assert found.advice[0] is Advice.TENSORS_NOT_NUMBERS
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

    found = diagnose(GROWING, traces, frozenset({K.TRACES}), is_per_fit=per == "fit")

    assert found is not None
    assert found.cause is cause


def test_no_function_is_named_where_none_is_known():
    retracing = diagnose(GROWING, grew(K.TRACES), ALL_READ)
    native = diagnose(GROWING, grew(K.NATIVE_BYTES), ALL_READ)

    assert retracing is not None
    assert retracing.function is None
    assert native is not None
    assert native.function is None


def test_a_data_set_that_was_read_once_needs_nothing():
    found = diagnose(STEADY, [], ALL_READ, FirstUnit(rise=900.0, later_rise=10.0))

    assert found is not None
    assert found.cause is Cause.DATA_CACHE
    assert found.advice == (Advice.NOTHING,)


@pytest.mark.parametrize("first", [None, FirstUnit(0.0, 0.0), FirstUnit(10.0, 90.0)])
def test_nothing_is_named_where_nothing_grows(first: FirstUnit | None):
    assert diagnose(STEADY, grew(K.TRACES), ALL_READ, first) is None
