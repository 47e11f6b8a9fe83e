"""Open lengths: said for a model that keeps them, refused where a layer may change them."""

import pytest

from kmonitor.memory.calibration import PeakMeasurement, usable_measurements
from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.tensor_sizes import OpenShape, is_open, with_length
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from tests.support.made_up_layouts import chain, layer, tensor, two_dense, variable


def tokens(length: int | None, kind: str = "Dropout", **settings: int) -> ModelLayout:
    """Token numbers, their vectors, and one more layer."""
    return chain(
        [layer("embed", "Embedding", 0), layer("then", kind, **settings)],
        [tensor(length, dtype="int32"), tensor(length, 8), tensor(length, 8)],
        [variable("embed/embeddings", 100, 8)],
    )


def test_a_length_that_is_said_makes_the_model_of_that_length():
    said = with_length(tokens(None), 40)

    assert is_open(tokens(None))
    assert said == tokens(40)
    assert estimate(said, Plan(32)) == estimate(tokens(40), Plan(32))


def test_a_model_that_leaves_nothing_open_stays_as_it_is():
    assert not is_open(two_dense())
    assert with_length(two_dense(), 40) == two_dense()


@pytest.mark.parametrize("kind", ["Conv1D", "MaxPooling1D", "Reshape", "ZeroPadding1D"])
def test_a_layer_that_may_change_a_length_is_not_guessed_at(kind: str):
    with pytest.raises(OpenShape):
        with_length(tokens(None, kind), 40)


@pytest.mark.parametrize(("axis", "is_kept"), [(-1, True), (2, True), (1, False)])
def test_joining_keeps_the_length_along_the_last_axis_alone(axis: int, is_kept: bool):  # noqa: FBT001 - a parameter
    joined = tokens(None, "Concatenate", axis=axis)

    if is_kept:
        assert not is_open(with_length(joined, 40))
    else:
        with pytest.raises(OpenShape):
            with_length(joined, 40)


def test_what_was_measured_tells_nothing_of_a_model_whose_lengths_are_open():
    measured = PeakMeasurement(32, 2**30, steps=5, between_bytes=2**20, device="CPU")

    assert usable_measurements(tokens(None), Plan(32), [measured]) == ()
