# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
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
    """A `train_step` of its own, with PyTorch's gradients."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data[:2]
        self.zero_grad()
        loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        loss.backward()
        with torch.no_grad():
            weights = list(self.trainable_weights)
            self.optimizer.apply([each.value.grad for each in weights], weights)
        return {"own": loss.detach()}


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
    inexact="may not be exact: torch.compile",
)
"""Takes a C++ compiler and half a minute."""
