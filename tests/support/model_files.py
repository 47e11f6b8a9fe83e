"""Model files as Keras writes them, made without Keras."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

CONFIG: dict[str, Any] = {
    "module": "keras",
    "class_name": "Sequential",
    "registered_name": None,
    "config": {
        "name": "small",
        "layers": [
            {
                "module": "keras.layers",
                "class_name": "Dense",
                "registered_name": None,
                "config": {
                    "name": "wide",
                    "units": 5,
                    "dtype": {
                        "module": "keras",
                        "class_name": "DTypePolicy",
                        "config": {"name": "mixed_float16"},
                        "registered_name": None,
                    },
                },
            }
        ],
    },
    "compile_config": {
        "optimizer": {
            "module": "keras.optimizers",
            "class_name": "Adam",
            "config": {"name": "adam", "learning_rate": 0.25, "clipnorm": None},
            "registered_name": None,
        },
        "loss": "mse",
        "metrics": ["accuracy"],
        "jit_compile": False,
    },
}
"""The file of a model with one layer, compiled."""


def weights_file() -> bytes:
    """An HDF5 file with that layer's arrays, and the optimizer's."""
    with io.BytesIO() as held:
        with h5py.File(held, "w") as file:
            group = file.create_group("layers/dense/vars")
            group.attrs["name"] = "wide"
            group["0"] = np.zeros((4, 5), "float32")
            group["1"] = np.zeros(5, "float32")
            slots = file.create_group("optimizer/vars")
            for n, shape in enumerate([(), (), (4, 5), (4, 5), (5,), (5,)]):
                slots[str(n)] = np.zeros(shape, "float32")
        return held.getvalue()


def weights_of(arrays: dict[str, list[tuple[int, ...]]], names: dict[str, str]) -> bytes:
    """An HDF5 file with these layers.

    Args:
        arrays: Shapes by group below `layers`.
        names: Layers' own names, by group below `layers`.
    """
    with io.BytesIO() as held:
        with h5py.File(held, "w") as file:
            for group, name in names.items():
                file.require_group(f"layers/{group}/vars").attrs["name"] = name
            for group, shapes in arrays.items():
                for n, shape in enumerate(shapes):
                    file[f"layers/{group}/vars/{n}"] = np.zeros(shape, "float32")
        return held.getvalue()


def write_archive(path: Path, *, config: Any = CONFIG, weights: bytes | None = None) -> Path:
    """A `.keras` file.

    Args:
        path: To write.
        config: Its configuration: anything that JSON takes, or the bytes that stand in its place.
        weights: Its HDF5 file; None: `weights_file`.
    """
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", text)
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        archive.writestr("model.weights.h5", weights_file() if weights is None else weights)
    return path


def write_h5(path: Path) -> Path:
    """An old `.h5` file of the same model."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "3.15.1"
        file.attrs["backend"] = "tensorflow"
        file.attrs["model_config"] = json.dumps(
            {name: CONFIG[name] for name in ("class_name", "config")}
        )
        compiled = CONFIG["compile_config"]
        told = {"loss": compiled["loss"], "metrics": [], "optimizer_config": compiled["optimizer"]}
        file.attrs["training_config"] = json.dumps(told)
        file["model_weights/wide/wide/kernel"] = np.zeros((4, 5), "float32")
        file["model_weights/wide/wide/bias"] = np.zeros(5, "float32")
        file["optimizer_weights/adam/iteration"] = np.zeros((), "int64")
    return path
