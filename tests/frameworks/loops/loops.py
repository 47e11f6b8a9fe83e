# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""Ways to train a model, by Keras' `fit` and by loops of a script's own, each ten lines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.frameworks.exactness import data, generative, models, tensorflow_scenarios
from tests.frameworks.exactness.data import BATCH, SAMPLES

STEPS = SAMPLES // BATCH


@dataclass
class Training:
    """Objects of a training, and everything that its result depends on.

    Attributes:
        model: Model that callbacks are given.
        parts: Objects with variables, or variables, that the model leads to.
        beside: The same that it does not lead to: only the script knows them.
        steps: Number of steps done.
    """

    model: Any
    parts: list[Any] = field(default_factory=list[Any])
    beside: list[Any] = field(default_factory=list[Any])
    steps: int = 0

    def values(self) -> list[bytes]:
        """Values of everything that the model leads to."""
        return _values([self.model, *self.parts])

    def values_beside(self) -> list[bytes]:
        """Values of everything else."""
        return _values(self.beside)


Run = Callable[[Training, list[Any], int], None]


@dataclass(frozen=True)
class Loop:
    """A way to train.

    Attributes:
        make: Makes what is trained.
        run: Trains it for some epochs, with callbacks.
    """

    make: Callable[[], Training]
    run: Run


def _values(holders: list[Any]) -> list[bytes]:
    variables = [
        variable
        for each in holders
        for variable in (each.variables if hasattr(each, "variables") else [each])
    ]
    return [np.asarray(each.numpy()).tobytes() for each in variables]


def batches() -> Iterator[tuple[Any, Any]]:
    """One epoch."""
    found = data.arrays()
    for start in range(0, SAMPLES, BATCH):
        yield found["x"][start : start + BATCH], found["y"][start : start + BATCH]


class Counting(keras.callbacks.Callback):
    """Counts the steps that `fit` does."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        self.training = training

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.training.steps += 1


def by_fit(training: Training, callbacks: list[Any], epochs: int) -> None:
    """Keras' own loop."""
    found = data.arrays() | {"shuffle": False, "epochs": epochs, "verbose": 0}
    if isinstance(training.model, generative.Gan):
        del found["y"]
    training.model.fit(**found, callbacks=[Counting(training), *callbacks])


def by_callback_list(
    step: Callable[[Training, Any, Any], Any],
    *,
    heeds: bool = False,
    begins_elsewhere: bool = False,
) -> Run:
    """A loop that drives Keras' CallbackList.

    Args:
        step: Does one step.
        heeds: True if it checks `model.stop_training` after each step, as `fit` does.
        begins_elsewhere: True if another function calls the callbacks' begin hooks.
    """

    def run(training: Training, callbacks: list[Any], epochs: int) -> None:
        told = keras.callbacks.CallbackList(callbacks, model=training.model, epochs=epochs)
        training.model.stop_training = False
        _begin(told) if begins_elsewhere else told.on_train_begin()
        for epoch in range(epochs):
            told.on_epoch_begin(epoch)
            for number, (x, y) in enumerate(batches()):
                told.on_train_batch_begin(number)
                step(training, x, y)
                training.steps += 1
                told.on_train_batch_end(number, {})
                if heeds and training.model.stop_training:
                    break
            told.on_epoch_end(epoch, {})
            if heeds and training.model.stop_training:
                break
        told.on_train_end()

    return run


def _begin(told: Any) -> None:
    told.on_train_begin()


def _train_on_batch(training: Training, x: Any, y: Any) -> None:
    training.model.train_on_batch(x, y)


def _gan_on_batch(training: Training, x: Any, y: Any) -> None:
    generator, discriminator = training.parts[:2]
    noise = np.ones((len(x), generative.LATENT), "float32")
    discriminator.train_on_batch(
        np.concatenate([x, generator(noise)]), np.repeat([[1], [0]], len(x), 0)
    )
    training.model.train_on_batch(noise, np.ones((len(x), 1)))


def _traced(training: Training, x: Any, y: Any) -> None:
    training.beside[1](tf.constant(x), tf.constant(y))


def _eager(training: Training, x: Any, y: Any) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(training.model(x, training=True) - y))
    weights = training.model.trainable_weights
    training.beside[0].apply(tape.gradient(loss, weights), weights)


def _compiled(**settings: Any) -> Training:
    model = models.dense(**settings)
    return Training(model, [model.optimizer, *model.metrics])


def _gan() -> Training:
    model = generative.two_optimizers(generative.Gan)
    return Training(
        model, [model.d_optimizer, model.g_optimizer, *model.metrics, model.seeds.state]
    )


def _own_step() -> Training:
    model = tensorflow_scenarios.own_step()
    return Training(model, [model.optimizer, *model.metrics])


def _three_models() -> Training:
    generator, discriminator = generative.generator(), generative.critic()
    models.compiled(discriminator)
    model = models.compiled(keras.Sequential([generator, discriminator]))
    model.build((None, generative.LATENT))
    return Training(model, [generator, discriminator, discriminator.optimizer, model.optimizer])


def _uncompiled() -> Training:
    model = keras.Sequential([keras.Input((data.FEATURES,)), *models.dense_layers()])
    return Training(model, beside=[keras.optimizers.Adam(0.02)])


class Step:
    """A tf.function of the script; has no variables."""

    variables: tuple[Any, ...] = ()

    def __init__(self, training: Training) -> None:
        optimizer, model = training.beside[0], training.model

        @tf.function
        def script_step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            weights = model.trainable_weights
            optimizer.apply(tape.gradient(loss, weights), weights)
            return loss

        self._step = script_step

    def __call__(self, x: Any, y: Any) -> None:
        self._step(x, y)


def _with_step() -> Training:
    training = _uncompiled()
    training.beside.append(Step(training))
    return training


LOOPS = {
    "fit": Loop(_compiled, by_fit),
    "train_step": Loop(_own_step, by_fit),
    "GAN": Loop(_gan, by_fit),
    "run_eagerly": Loop(lambda: _compiled(run_eagerly=True), by_fit),
    "train_on_batch": Loop(_compiled, by_callback_list(_train_on_batch)),
    "train_on_batch, heeding": Loop(
        _compiled, by_callback_list(_train_on_batch, heeds=True, begins_elsewhere=True)
    ),
    "three models": Loop(_three_models, by_callback_list(_gan_on_batch)),
    "tf.function": Loop(_with_step, by_callback_list(_traced)),
    "tf.function, heeding": Loop(_with_step, by_callback_list(_traced, heeds=True)),
    "eager": Loop(_uncompiled, by_callback_list(_eager)),
}
