"""Contents of a model file, and its compile settings, read without a framework."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.archive import (
    METADATA,
    WEIGHTS,
    check_layer_count,
    damaged,
    json_object,
    read_archive,
    read_json,
    size_of,
    untrusted_items,
)
from kmonitor.memory.model_files.hdf5 import Dataset, Hdf5Contents, read_hdf5
from kmonitor_agent.wire.local.folders import expand_user

_OPTIMIZER: Final = ("optimizer", "optimizer_weights")
_LEGACY_WEIGHTS: Final = "model_weights"

_DEEPEST: Final = 100
_HOLDS_LAYERS: Final = ("layers", "layer", "backward_layer", "cell", "cells")
"""Settings of models, wrappers and cells whose values are layers."""

_PARTS: Final = {
    "LSTM": "LSTMCell",
    "GRU": "GRUCell",
    "SimpleRNN": "SimpleRNNCell",
    "ConvLSTM1D": "ConvLSTMCell",
    "ConvLSTM2D": "ConvLSTMCell",
    "ConvLSTM3D": "ConvLSTMCell",
    "MultiHeadAttention": "EinsumDense",
    "GroupQueryAttention": "EinsumDense",
    "GroupedQueryAttention": "EinsumDense",
}
"""Classes of the layers that a layer creates itself, which no configuration names.

Source: Keras 3.15's own layers.
"""


class StoredLayer(msgspec.Struct, frozen=True):
    """One layer's arrays in the file.

    Attributes:
        path: Name, after those of the enclosing models; the position in files without names.
        kind: Class name; empty if the file does not contain it.
        parameters: Number of values; those stored twice count once.
        stored_bytes: Size of the values in the file, including repetitions.
        shapes: Shapes of the arrays.
    """

    path: str
    kind: str
    parameters: int
    stored_bytes: int
    shapes: tuple[tuple[int, ...], ...]


class CompileSettings(msgspec.Struct, frozen=True):
    """Compile settings of the model.

    Attributes:
        optimizer: Class name; empty if the file has none.
        settings: Settings of the optimizer.
        loss: Loss as text; empty if there is none.
        metrics: Names of the metrics.
        jit_compile: Compilation by XLA; None if the file does not contain it.
    """

    optimizer: str = ""
    settings: dict[str, Any] = {}
    loss: str = ""
    metrics: tuple[str, ...] = ()
    jit_compile: bool | None = None


class ModelFile(msgspec.Struct, frozen=True):
    """Contents of a model file.

    Attributes:
        path: The file.
        form: "keras", "h5", "weights", or "json" for only an architecture.
        file_bytes: Size of the file.
        model: Name of the model; empty if the file has only weights.
        kind: Class of the model.
        keras_version: Version of Keras that wrote the file; empty if unknown.
        backend: Backend that wrote the file; empty if unknown.
        saved: Date in the file; empty if there is none.
        precision: Dtype policies of the layers, each once; "int8_from_float32" for quantized
            weights.
        compile_settings: Compile settings; None if the model was saved uncompiled, or the file has
            only weights.
        layers: Layers with arrays.
        parameters: Number of weights.
        weight_bytes: Size of the weights in the file.
        slots: Number of the optimizer's arrays.
        slot_bytes: Size of these arrays in the file.
        own_parts: Custom classes and code in the file, as text; building the model needs them.
    """

    path: str
    form: str
    file_bytes: int
    model: str = ""
    kind: str = ""
    keras_version: str = ""
    backend: str = ""
    saved: str = ""
    precision: tuple[str, ...] = ()
    compile_settings: CompileSettings | None = None
    layers: tuple[StoredLayer, ...] = ()
    parameters: int = 0
    weight_bytes: int = 0
    slots: int = 0
    slot_bytes: int = 0
    own_parts: tuple[str, ...] = ()


def inspect_file(path: Path) -> ModelFile:
    """Inspect a `.keras`, `.h5`, `.weights.h5` or `.json` file without reading any array.

    Raises:
        UserError: There is no such file, or it is damaged or of another kind.
    """
    n_bytes = size_of(path)
    if path.suffix == ".keras":
        return _of_archive(path, n_bytes)
    if path.suffix in (".h5", ".hdf5"):
        return _of_hdf5(path, n_bytes)
    if path.suffix == ".json":
        return _of_json(path, n_bytes)
    raise UserError(
        f"{path} is not a recognized type of model file.", "Pass a .keras, .h5 or .json file."
    )


def _of_archive(path: Path, n_bytes: int) -> ModelFile:
    archive = read_archive(path)
    contents = read_hdf5(path, WEIGHTS) if WEIGHTS in archive.members else Hdf5Contents()
    metadata = archive.metadata if METADATA in archive.members else {}
    return _with_contents(
        ModelFile(
            path=str(path),
            form="keras",
            file_bytes=n_bytes,
            keras_version=_text(metadata.get("keras_version")),
            saved=_text(metadata.get("date_saved")),
            compile_settings=_compiled(_mapping(archive.config.get("compile_config"))),
        ),
        archive.config,
        contents,
    )


def _of_json(path: Path, n_bytes: int) -> ModelFile:
    config = read_json(path)
    if not isinstance(config.get("class_name"), str):
        raise damaged(path, "it is a JSON file, but it does not name a model class")
    compiled = _compiled(_mapping(config.get("compile_config")))
    file = ModelFile(path=str(path), form="json", file_bytes=n_bytes, compile_settings=compiled)
    return _with_contents(file, config, Hdf5Contents())


def _of_hdf5(path: Path, n_bytes: int) -> ModelFile:
    contents = read_hdf5(path)
    attributes = contents.attributes
    try:
        config = json_object(attributes.get("model_config", "{}"), "its model_config")
        training = json_object(attributes.get("training_config", "{}"), "its training_config")
    except ValueError as exc:
        raise damaged(path, str(exc)) from exc
    if not contents.datasets and not config:
        raise damaged(path, "it is an HDF5 file, but it contains no model")
    compiled = {**training, "optimizer": training.get("optimizer_config")} if training else {}
    check_layer_count(path, config)
    return _with_contents(
        ModelFile(
            path=str(path),
            form="h5" if config else "weights",
            file_bytes=n_bytes,
            keras_version=attributes.get("keras_version", ""),
            backend=attributes.get("backend", ""),
            compile_settings=_compiled(compiled),
        ),
        config,
        contents,
    )


def _with_contents(file: ModelFile, config: dict[str, Any], contents: Hdf5Contents) -> ModelFile:
    """Copy with the data from the configuration and the arrays."""
    kinds = dict(_kinds(config))
    slots = [each for each in contents.datasets if _top(each.path) in _OPTIMIZER]
    layers = _stored_layers(contents, kinds)
    return msgspec.structs.replace(
        file,
        model=_text(_mapping(config.get("config")).get("name")),
        kind=_text(config.get("class_name")),
        precision=tuple(dict.fromkeys(_policies(config))),
        layers=layers,
        parameters=sum(each.parameters for each in layers),
        weight_bytes=sum(each.stored_bytes for each in layers),
        slots=len(slots),
        slot_bytes=sum(each.stored_bytes for each in slots),
        own_parts=tuple(untrusted_items(config)),
    )


def _stored_layers(contents: Hdf5Contents, kinds: Mapping[str, str]) -> tuple[StoredLayer, ...]:
    groups: dict[str, list[Dataset]] = {}
    for each in contents.datasets:
        if _top(each.path) not in _OPTIMIZER:
            groups.setdefault(_layer_of(each.path), []).append(each)
    found: list[StoredLayer] = []
    for group_path, arrays in groups.items():
        path = _named(group_path, contents.attributes)
        kind = _kind(path, kinds)
        found.append(
            StoredLayer(
                path=path,
                kind=kind,
                parameters=sum(
                    math.prod(each.shape) for each in _without_duplicates(kind, arrays)
                ),
                stored_bytes=sum(each.stored_bytes for each in arrays),
                shapes=tuple(each.shape for each in arrays),
            )
        )
    return tuple(found)


def _kind(path: str, kinds: Mapping[str, str]) -> str:
    above, _, name = path.rpartition("/")
    return kinds.get(name) or _PARTS.get(kinds.get(above.rpartition("/")[2], ""), "")


def _without_duplicates(kind: str, arrays: list[Dataset]) -> list[Dataset]:
    """Arrays without those of the wrapped layer, which `SpectralNormalization` stores twice."""
    return arrays[-1:] if kind == "SpectralNormalization" else arrays


def _top(path: str) -> str:
    return path.partition("/")[0]


def _layer_of(path: str) -> str:
    """Group of the layer that an array belongs to."""
    if _top(path) == _LEGACY_WEIGHTS:
        return path.split("/")[1]
    before, parted, _ = path.rpartition("/vars/")
    return before if parted else path.rpartition("/")[0]


def _named(group_path: str, attributes: Mapping[str, str]) -> str:
    """Name of a layer, after those of enclosing ones; the position in files without names."""
    names: list[str] = []
    parts = group_path.split("/")
    for n in range(1, len(parts) + 1):
        name = attributes.get(f"{'/'.join(parts[:n])}/vars@name")
        if name:
            names.append(name)
    return "/".join(names) or group_path or "(the model itself)"


def _kinds(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and class of each layer in a configuration, also in models, wrappers and cells."""
    for layer in _layers_in(config):
        yield _text(_mapping(layer.get("config")).get("name")), _text(layer.get("class_name"))


def _policies(config: Mapping[str, Any]) -> Iterator[str]:
    for layer in _layers_in(config):
        if name := policy_name(_mapping(layer.get("config")).get("dtype")):
            yield name


def _layers_in(config: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Each layer below, in order, up to the depth limit."""
    if depth > _DEEPEST:
        return
    for name, value in _mapping(config.get("config")).items():
        for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
            layer = _mapping(each)
            if name in _HOLDS_LAYERS and "class_name" in layer:
                yield layer
                yield from _layers_in(layer, depth + 1)


def policy_name(dtype: Any) -> str:
    """Name of a layer's dtype policy from a configuration; empty if there is none."""
    if isinstance(dtype, str):
        return dtype
    settings = _mapping(_mapping(dtype).get("config"))
    mode = settings.get("mode")
    source = settings.get("source_name")
    if isinstance(mode, str) and isinstance(source, str):
        return f"{mode}_from_{source}"  # as Keras names what was quantized
    return _text(settings.get("name"))


def _compiled(compile_config: Mapping[str, Any]) -> CompileSettings | None:
    if not compile_config:
        return None
    optimizer = compile_config.get("optimizer")
    settings = _mapping(_mapping(optimizer).get("config"))
    kind = optimizer if isinstance(optimizer, str) else _mapping(optimizer).get("class_name")
    jit = compile_config.get("jit_compile")
    return CompileSettings(
        optimizer=_text(kind),
        settings={name: value for name, value in settings.items() if value is not None},
        loss=", ".join(_names(compile_config.get("loss"))),
        metrics=(
            *_names(compile_config.get("metrics")),
            *_names(compile_config.get("weighted_metrics")),
        ),
        jit_compile=jit if isinstance(jit, bool) else None,
    )


def _names(value: Any) -> Iterator[str]:
    """Names in a loss or in metrics: texts, objects, and lists or mappings of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _names(each)
    elif isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        if "class_name" in mapping:
            inner = mapping.get("config")
            is_function = mapping["class_name"] == "function"
            yield _text(inner) if is_function else _text(mapping["class_name"])
        else:
            for name, each in mapping.items():
                yield f"{name}: {', '.join(_names(each))}"


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def chosen_backend() -> str:
    """Backend that Keras would use here, from the environment or the user's file."""
    if found := os.environ.get("KERAS_BACKEND"):
        return found
    home = os.environ.get("KERAS_HOME") or expand_user("~/.keras")
    try:
        settings: Any = json.loads((Path(home) / "keras.json").read_text(encoding="utf-8"))
        return str(settings.get("backend") or "tensorflow")
    except (OSError, ValueError, AttributeError):
        return "tensorflow"
