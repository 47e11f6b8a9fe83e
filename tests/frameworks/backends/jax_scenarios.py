# pyright: basic, reportMissingImports=false, reportAssignmentType=false
# pyright: reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# pyright: reportOptionalOperand=false
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
    """Its own `train_step`, as JAX wants it: state in, state out."""

    def train_step(self, state: Any, data: Any) -> tuple[Any, Any]:
        trained, others, slots, metrics = state
        x, y = data

        def loss_of(trained: Any) -> tuple[Any, Any]:
            y_pred, updated = self.stateless_call(trained, others, x, training=True)
            return keras.ops.mean(keras.ops.square(y_pred - y)), updated

        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(trained)
        trained, slots = self.optimizer.stateless_apply(slots, gradients, trained)
        return {"own": loss}, (trained, others, slots, metrics)


class Gan(keras.Model):
    """Two parts and one MultiOptimizer: Keras' step on JAX carries the state of one optimizer.

    It is marked as built, since Keras on JAX would call it to build it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.discriminator = keras.Sequential(
            [keras.Input((data.FEATURES,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)]
        )
        self.generator = keras.Sequential([keras.Input((4,)), keras.layers.Dense(data.FEATURES)])
        self.seeds = keras.random.SeedGenerator(1337)
        self.d_loss_tracker = keras.metrics.Mean(name="d_loss")
        self.hidden = keras.metrics.Mean(name="hidden")
        self.built = True

    @property
    def metrics(self) -> list[Any]:
        return [self.d_loss_tracker]

    def train_step(self, state: Any, real: Any) -> tuple[Any, Any]:
        trained, others, slots, metrics = state

        def loss_of(trained: Any) -> tuple[Any, Any]:
            pairs = [
                *zip(self.trainable_variables, trained, strict=True),
                *zip(self.non_trainable_variables, others, strict=True),
            ]
            with keras.StatelessScope(state_mapping=pairs) as scope:
                noise = keras.random.normal((real.shape[0], 4), seed=self.seeds)
                fake = self.generator(noise)
                apart = self.discriminator(jax.lax.stop_gradient(fake)) - self.discriminator(real)
                d_loss = keras.ops.mean(keras.ops.softplus(apart))
                g_loss = keras.ops.mean(keras.ops.square(fake - real))
            kept = [scope.get_current_value(each) for each in self.non_trainable_variables]
            others_after = [
                old if new is None else new for old, new in zip(others, kept, strict=True)
            ]
            return d_loss + g_loss, (d_loss, others_after)

        found, gradients = jax.value_and_grad(loss_of, has_aux=True)(trained)
        (d_loss, others) = found[1]
        trained, slots = self.optimizer.stateless_apply(slots, gradients, trained)
        metrics = self.d_loss_tracker.stateless_update_state(metrics, d_loss)
        logs = {"d_loss": self.d_loss_tracker.stateless_result(metrics)}
        return logs, (trained, others, slots, metrics)


def gan() -> Any:
    """Each part has its own optimizer."""
    model = Gan()
    critic = {id(each) for each in model.discriminator.trainable_variables}
    first, second = keras.optimizers.Adam(0.02), keras.optimizers.RMSprop(0.01)
    chosen = keras.optimizers.MultiOptimizer(lambda each: first if id(each) in critic else second)
    model.compile(optimizer=chosen)
    return model


def real_only() -> data.Data:
    """Samples without targets."""
    found = data.arrays()
    return {"x": found["x"], "batch_size": found["batch_size"]}


def own_step() -> Any:
    """Built before: a stateless step cannot build."""
    inputs = keras.Input((data.FEATURES,))
    outputs = inputs
    for layer in models.dense_layers():
        outputs = layer(outputs)
    return models.compiled(OwnStep(inputs, outputs), loss="mse")


CORE = [
    Scenario("GAN", gan, real_only),
    Scenario("train_step of its own", own_step, data.arrays),
]
"""Beside the shared core."""
