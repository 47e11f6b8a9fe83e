# pyright: basic, reportMissingImports=false, reportAssignmentType=false
"""Trainings that use JAX itself."""

from typing import Any

import jax
import keras

from tests.frameworks.exactness import data, models
from tests.support.exactness import Scenario

LEFT_OUT = frozenset(
    {
        "keras.random without a seed",  # Keras refuses it in a jitted step
        "PyDataset with workers",  # its order depends on who is faster, with a reload or without
    }
)
"""Shared scenarios that Keras on JAX cannot run."""


class OwnStep(keras.Model):
    """A `train_step` of its own, as JAX wants it: state in, state out."""

    def train_step(self, state: Any, data: Any) -> tuple[Any, Any]:
        trained, others, slots, metrics = state
        x, y = data

        def loss_of(trained: Any) -> tuple[Any, Any]:
            y_pred, updated = self.stateless_call(trained, others, x, training=True)
            return keras.ops.mean(keras.ops.square(y_pred - y)), updated

        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(trained)
        trained, slots = self.optimizer.stateless_apply(slots, gradients, trained)
        return {"own": loss}, (trained, others, slots, metrics)


def own_step() -> Any:
    """Built before: a stateless step cannot build."""
    inputs = keras.Input((data.FEATURES,))
    outputs = inputs
    for layer in models.dense_layers():
        outputs = layer(outputs)
    return models.compiled(OwnStep(inputs, outputs), loss="mse")


CORE = [
    Scenario("train_step of its own", own_step, data.arrays),
]
"""Beside the shared core."""
