"""A memory map of a model that a notebook holds."""

from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from kmonitor.notebook import memory_map  # noqa: E402 - after the skip
from kmonitor_agent.frameworks.layout_reader import ModelNotBuilt  # noqa: E402


def model() -> Any:
    made = keras.Sequential([keras.Input((6, 6, 2)), keras.layers.Conv2D(4, 3)])
    made.compile("adam", "mse")
    return made


@pytest.mark.slow
def test_a_model_of_the_notebook_is_mapped_and_stays_as_it_is():
    made = model()

    found = memory_map(made, batch=8)

    weights = 4 * (3 * 3 * 2 * 4 + 4)
    assert (found.parameter_bytes, found.batch) == (weights, 8)
    assert found.resident_bytes == 3 * weights + 12
    assert not made.optimizer.built
    if keras.backend.backend() == "tensorflow":
        assert "traced" in found.method


@pytest.mark.slow
def test_another_training_is_asked_by_its_names():
    made = model()

    found = memory_map(made, optimizer="SGD", backend="torch", input_shapes=[(12, 12, 2)])

    assert (found.slot_bytes, found.backend) == (12, "torch")
    assert (
        found.transient_bytes > memory_map(made, optimizer="sgd", backend="torch").transient_bytes
    )
    with pytest.raises(ValueError, match="is not a known optimizer"):
        memory_map(made, optimizer="mystery")


class OwnCode(keras.Model):
    """Computes in its own code; Keras' `build` marks it as built and makes no weights."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(3)
        self.given = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])

    def call(self, x: Any) -> Any:
        return self.given(self.hidden(x))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*was called")
@pytest.mark.parametrize("state", ["not built", "only marked as built"])
def test_a_model_whose_layers_know_no_shapes_is_refused_until_it_was_called(state: str):
    made = OwnCode()
    made.compile("sgd", "mse")
    if state == "only marked as built":
        made.build((None, 7))
    before = len(made.variables)

    with pytest.raises(ModelNotBuilt, match="call it on an Input"):
        memory_map(made, batch=8)

    assert len(made.variables) == before
    made(keras.Input((7,)))
    assert memory_map(made, batch=8).parameter_bytes == 4 * (7 * 3 + 3 + 3 * 5 + 5)
