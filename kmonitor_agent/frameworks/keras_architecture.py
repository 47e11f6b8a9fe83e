# pyright: basic
"""What a model is made of, as JSON, and a model made of that; Keras 3 and tf_keras."""

import json
from collections.abc import Mapping
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.lazy_imports import nothing_imported
from kmonitor_agent.frameworks.model_building import keras_of


@nothing_imported()
def architecture_of(model: KerasModel) -> str:
    """Layers, losses, metrics and optimizer as JSON; empty where the model cannot tell them."""
    try:
        return json.dumps(keras_of(model).saving.serialize_keras_object(model))
    except Exception:  # noqa: BLE001 - a script's own get_config may raise anything
        return ""


@nothing_imported()
def model_of(keras: Any, architecture: str) -> KerasModel:
    """A model of that making, compiled as it was; classes of a script must be registered.

    Raises:
        Exception: Whatever Keras raises for a class that it does not know.
    """
    found = json.loads(architecture)
    if not isinstance(found, Mapping):
        raise TypeError("it describes no model")
    return keras.saving.deserialize_keras_object(found, safe_mode=True)


def model_of_legacy(config: dict[str, Any]) -> KerasModel:
    """A Keras 3 model of what a `.h5` file says, where classes have no modules.

    Raises:
        Exception: Whatever Keras raises for a class that it does not know.
    """
    from keras.src.legacy.saving import saving_utils

    return saving_utils.model_from_config(config)
