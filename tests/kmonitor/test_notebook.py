"""A memory map of a model that a notebook holds."""

from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from kmonitor.notebook import memory_map  # noqa: E402 - after the skip


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
    with pytest.raises(ValueError, match="is not known"):
        memory_map(made, optimizer="mystery")
