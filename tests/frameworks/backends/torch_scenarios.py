# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportIncompatibleMethodOverride=false
"""Trainings that use PyTorch itself."""

from typing import Any

import keras
import torch

from tests.frameworks.exactness import data, models
from tests.support.exactness import Scenario, seed_keras

LEFT_OUT = frozenset(
    {
        "steps_per_execution",  # Keras on PyTorch takes one step at a time
        "stateful LSTM",  # a state that the layer changes in place has no gradient there
        "PyDataset with workers",  # its order depends on who is faster, with a reload or without
        "jit_compile",  # may be inexact, and says so: see COMPILED
    }
)
"""Shared scenarios that Keras on PyTorch cannot run, or runs in another way."""


class OwnStep(models.Subclassed):
    """Its own `train_step`, with PyTorch's gradients."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data[:2]
        self.zero_grad()
        loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        loss.backward()
        with torch.no_grad():
            weights = list(self.trainable_weights)
            self.optimizer.apply([each.value.grad for each in weights], weights)
        return {"own": loss.detach()}


class Gan(keras.Model):
    """After keras.io's GAN in PyTorch: marked as built, two optimizers, own seeds."""

    def __init__(self) -> None:
        super().__init__()
        self.discriminator = keras.Sequential(
            [keras.Input((data.FEATURES,)), *models.dense_layers()[:3], keras.layers.Dense(1)]
        )
        self.generator = keras.Sequential([keras.Input((4,)), keras.layers.Dense(data.FEATURES)])
        self.seeds = keras.random.SeedGenerator(1337)
        self.d_loss_tracker = keras.metrics.Mean(name="d_loss")
        self.built = True

    def compile(self, d_optimizer: Any, g_optimizer: Any) -> None:
        super().compile()
        self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def metrics(self) -> list[Any]:
        return [self.d_loss_tracker]

    def descend(self, part: Any, optimizer: Any, loss: Any) -> None:
        self.zero_grad()
        loss.backward()
        with torch.no_grad():
            weights = list(part.trainable_weights)
            optimizer.apply([each.value.grad for each in weights], weights)

    def train_step(self, real: Any) -> dict[str, Any]:
        real = real[0] if isinstance(real, tuple) else real
        ones = torch.ones((real.shape[0], 1))
        noise = keras.random.normal((real.shape[0], 4), seed=self.seeds)
        fake = self.generator(noise).detach()
        found = self.discriminator(torch.concatenate([real, fake]), training=True)
        d_loss = self.loss_fn(torch.concatenate([ones, 0 * ones]), found)
        self.descend(self.discriminator, self.d_optimizer, d_loss)
        g_loss = self.loss_fn(ones, self.discriminator(self.generator(noise), training=True))
        self.descend(self.generator, self.g_optimizer, g_loss)
        self.d_loss_tracker.update_state(d_loss.detach())
        return {"d_loss": self.d_loss_tracker.result(), "g_loss": g_loss.detach()}


def gan() -> Any:
    """Compiled with an optimizer for each part."""
    model = Gan()
    model.compile(keras.optimizers.Adam(0.02), keras.optimizers.RMSprop(0.01))
    return model


def real_only() -> data.Data:
    """Samples without targets."""
    found = data.arrays()
    return {"x": found["x"], "batch_size": found["batch_size"]}


def seed_torch(seed: int) -> None:
    """PyTorch's own generator as well."""
    seed_keras(seed)
    torch.manual_seed(seed)


def wrapped_modules() -> Any:
    """Modules of PyTorch in a Keras model: statistics in buffers, and torch's own dropout."""
    inside = torch.nn.Sequential(
        torch.nn.Linear(data.FEATURES, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.Dropout(0.4),
    )
    return models.compiled(
        keras.Sequential(
            [
                keras.Input((data.FEATURES,)),
                keras.layers.TorchModuleWrapper(inside),
                keras.layers.Dense(1, activation="sigmoid"),
            ]
        )
    )


CORE = [
    Scenario(
        "GAN",
        gan,
        real_only,
        beside=lambda model: [
            keras.ops.convert_to_numpy(each)
            for optimizer in (model.d_optimizer, model.g_optimizer)
            for each in optimizer.variables
        ],
    ),
    Scenario("train_step of its own", lambda: models.compiled(OwnStep(), loss="mse"), data.arrays),
    Scenario(
        "modules of PyTorch, which draw from its generator",
        wrapped_modules,
        data.validated,
        seed_all=seed_torch,
        beside=lambda _: [torch.get_rng_state().numpy()],
    ),
]
"""Beside the shared core."""

COMPILED = Scenario(
    "torch.compile",
    lambda: models.dense(jit_compile=True),
    data.arrays,
    epochs=2,
    inexact="may not be exact: after a reload, torch.compile",
)
"""Takes a C++ compiler and half a minute."""
