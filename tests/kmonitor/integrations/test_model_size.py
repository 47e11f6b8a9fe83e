"""A model that would not fit is not built, or not trained; one that would is left alone."""

import keras
import pytest

from kmonitor.integrations.model_size import TooLarge, check_step, held_bytes, weights_within


def wide(features: int) -> keras.Model:
    model = keras.Sequential([keras.Input((4,)), keras.layers.RepeatVector(features)])
    model.add(keras.layers.Dense(1, activation="tanh"))
    model.compile("sgd", "mse")
    return model


def test_weights_beyond_the_bound_are_not_made():
    before = held_bytes()

    with (
        pytest.raises(TooLarge, match=r"16.0 TiB or more.*it was not built"),
        weights_within(keras, before + 2**31),
    ):
        keras.Sequential([keras.Input((4,)), keras.layers.Dense(2**40)])

    assert held_bytes() < before + 2**28


def test_weights_within_the_bound_are_made_as_ever():
    with weights_within(keras, held_bytes() + 2**31):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])

    assert model.count_params() == 15


def test_a_step_beyond_the_bound_is_told_with_how_sure_that_is():
    with pytest.raises(TooLarge, match=r"about .* GiB \(.* GiB, tier 3: .*\) at batch 32"):
        check_step(wide(2**24), 32, held_bytes() + 2**30)


def test_a_step_that_may_fit_is_trained():
    check_step(wide(2**10), 32, held_bytes() + 2**30)


def test_a_model_that_cannot_be_described_is_trained():
    check_step(object(), 32, held_bytes())
