"""Every model whose peak is predicted and measured, by its name, and how it is compiled."""

from typing import Any

import keras

from tests.support.fresh_models import FRESH
from tests.support.held_models import HELD_OUT
from tests.support.map_models import AWKWARD, KNOWN, UNSEEN
from tests.support.random_models import PREFIX, random_model
from tests.support.trained_models import MADE_WITH

MODELS = {**KNOWN, **AWKWARD, **UNSEEN, **MADE_WITH, **HELD_OUT, **FRESH}
"""Function that makes each."""


def compiled(name: str, optimizer: str = "adam") -> Any:
    """A model by its name, compiled as it says itself, else as a classifier."""
    if name.startswith(PREFIX):
        return random_model(int(name.removeprefix(PREFIX)))
    model = MODELS[name]()
    if not model.compiled:
        loss = "sparse_categorical_crossentropy"
        if model.outputs[0].shape[-1] == 1:
            loss = "binary_crossentropy"
        model.compile(_optimizer(optimizer), loss, jit_compile=False)
    return model


def _optimizer(text: str) -> Any:
    """By its name, with settings after a colon: "adam:gradient_accumulation_steps=2"."""
    kind, _, settings = text.partition(":")
    pairs = [each.partition("=") for each in settings.split(",") if each]
    config = {name: int(value) for name, _, value in pairs}
    return keras.optimizers.get({"class_name": kind, "config": config})
