"""A model that would not fit is not built, or not trained; one that would is left alone."""

from collections.abc import Callable, Iterator

import keras
import pytest

from kmonitor.integrations.model_size import (
    MinimumSize,
    ModelTooLarge,
    build_without_values,
    check_step_fits,
    check_training_fits,
    find_minimum_size,
    process_resident_bytes,
    weights_bounded,
)
from tests.support.process_state import unchanged


@pytest.fixture(autouse=True)
def values_not_made_later() -> Iterator[None]:
    """Keras would make the values of weights without any with this process's next model."""
    yield
    keras.utils.clear_session()


def wide(features: int) -> keras.Model:
    model = keras.Sequential([keras.Input((4,)), keras.layers.RepeatVector(features)])
    model.add(keras.layers.Dense(1, activation="tanh"))
    model.compile("sgd", "mse")
    return model


def test_weights_beyond_the_bound_are_not_made():
    before = process_resident_bytes()

    with (
        pytest.raises(ModelTooLarge, match=r"at least 16.0 TiB.*so the model was not built"),
        weights_bounded(keras, before + 2**31),
    ):
        keras.Sequential([keras.Input((4,)), keras.layers.Dense(2**40)])

    assert process_resident_bytes() < before + 2**28


def test_weights_within_the_bound_are_made_as_ever():
    with weights_bounded(keras, process_resident_bytes() + 2**31):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])

    assert model.count_params() == 15


def dense(optimizer: str) -> keras.Model:
    """256 MiB of weights."""
    model = keras.Sequential([keras.Input((1024,)), keras.layers.Dense(2**16, use_bias=False)])
    model.compile(optimizer, "mse")
    return model


def looked_at(build: Callable[[], keras.Model], bound_bytes: int) -> None:
    """Both steps in one process."""
    check_training_fits(find_minimum_size(keras, build, bound_bytes), bound_bytes)


def test_weights_that_fit_without_their_gradients_and_slots_are_not_made():
    before = process_resident_bytes()

    with pytest.raises(
        ModelTooLarge,
        match=r"\(256.0 MiB\), their gradients and Adam's .* at least 1.0 GiB.*not built",
    ):
        looked_at(lambda: dense("adam"), before + 3 * 2**28)

    assert process_resident_bytes() < before + 2**27


def test_an_optimizer_that_keeps_less_lets_the_same_model_be_built():
    looked_at(lambda: dense("sgd"), process_resident_bytes() + 3 * 2**28)


def test_process_that_trains_keeps_its_state_while_sizes_are_checked():
    keras.mixed_precision.set_global_policy("float64")
    try:
        model = wide(2**20)
        model(keras.ops.ones((1, 4)))
        keras.utils.set_random_seed(3)
        with unchanged("the checks"):
            check_training_fits(MinimumSize(1.0, 3.0, "Adam"), process_resident_bytes() + 2**31)
            check_step_fits(model, 1, process_resident_bytes() + 2**28)
            with pytest.raises(ModelTooLarge):
                check_step_fits(model, 2**12, process_resident_bytes() + 2**28)
    finally:
        keras.mixed_precision.set_global_policy("float32")


def test_weights_of_layers_are_made_by_kerass_own_method_afterwards():
    own = keras.layers.Layer.add_weight

    with pytest.raises(KeyError), weights_bounded(keras, None):
        raise KeyError

    assert keras.layers.Layer.add_weight is own


def test_a_model_that_cannot_be_made_without_values_is_left_to_be_built():
    def build() -> keras.Model:
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.set_weights([each + 1.0 for each in model.get_weights()])
        return model

    looked_at(build, process_resident_bytes() + 2**31)
    assert (
        build_without_values(keras, build, process_resident_bytes() + 2**31).count_params() == 15
    )


def test_a_model_of_any_size_is_made_without_values():
    before = process_resident_bytes()

    assert build_without_values(keras, lambda: dense("adam"), before).count_params() == 2**26
    assert process_resident_bytes() < before + 2**27


def test_a_step_beyond_the_bound_is_told_with_how_sure_that_is():
    with pytest.raises(
        ModelTooLarge, match=r"about .* GiB \(.* GiB, tier 3: .*\) at batch size 32"
    ):
        check_step_fits(wide(2**24), 32, process_resident_bytes() + 2**30)


def test_a_step_that_may_fit_is_trained():
    check_step_fits(wide(2**10), 32, process_resident_bytes() + 2**30)


def test_a_model_that_cannot_be_described_is_trained():
    check_step_fits(object(), 32, process_resident_bytes())
