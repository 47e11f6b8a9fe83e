"""What a model file holds and how it was compiled, without a framework."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from kmonitor.errors import Expected
from kmonitor.model_files.archive import METADATA, WEIGHTS, damaged, json_object, read_archive
from kmonitor.model_files.hdf5 import Dataset, Hdf5Contents, read_hdf5
from kmonitor.model_files.trust import untrusted_parts

_OPTIMIZER: Final = ("optimizer", "optimizer_weights")
_LEGACY_WEIGHTS: Final = "model_weights"


class StoredLayer(msgspec.Struct, frozen=True):
    """One layer's arrays in the file.

    Attributes:
        path: Name, with those of the models that it is nested in; in files that keep no names
            the place.
        kind: Class name; empty where the file does not say it.
        parameters: Number of values.
        stored_bytes: What they take in the file.
        shapes: Of its arrays.
    """

    path: str
    kind: str
    parameters: int
    stored_bytes: int
    shapes: tuple[tuple[int, ...], ...]


class Compiled(msgspec.Struct, frozen=True):
    """How the model was compiled.

    Attributes:
        optimizer: Class name; empty if the file has none.
        settings: The optimizer's.
        loss: As text; empty if there is none.
        metrics: Names.
        jit_compile: None if that is not said.
    """

    optimizer: str = ""
    settings: dict[str, Any] = {}
    loss: str = ""
    metrics: tuple[str, ...] = ()
    jit_compile: bool | None = None


class ModelFile(msgspec.Struct, frozen=True):
    """What a file says of its model.

    Attributes:
        path: The file.
        form: "keras", "h5" or "weights".
        file_bytes: Its size.
        model: Name of the model; empty where the file has weights alone.
        kind: Its class.
        keras_version: That wrote it; empty if unknown.
        backend: Likewise.
        saved: When, as the file says it; empty if it does not.
        precision: Dtype policies of its layers, each once.
        compiled: None if it was saved uncompiled, or the file has weights alone.
        layers: Those with arrays.
        parameters: Number of weights.
        weight_bytes: What they take in the file.
        slots: Number of the optimizer's arrays.
        slot_bytes: What they take in the file.
        own_parts: Custom classes and code in it, in words; making the model needs them.
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
    compiled: Compiled | None = None
    layers: tuple[StoredLayer, ...] = ()
    parameters: int = 0
    weight_bytes: int = 0
    slots: int = 0
    slot_bytes: int = 0
    own_parts: tuple[str, ...] = ()


def inspect_file(path: Path) -> ModelFile:
    """What a `.keras`, `.h5` or `.weights.h5` file holds; no array is read, no class is made.

    Raises:
        Expected: There is no such file, or it is damaged or of another kind.
    """
    try:
        n_bytes = path.stat().st_size
        if path.is_dir():
            raise Expected(f"{path} is a folder.", "Give a .keras or .h5 file.")
    except OSError as exc:
        raise damaged(path, exc.strerror or str(exc)) from exc
    if path.suffix == ".keras":
        return _of_archive(path, n_bytes)
    if path.suffix in (".h5", ".hdf5"):
        return _of_hdf5(path, n_bytes)
    raise Expected(f"{path} is no model file that is known.", "Give a .keras or .h5 file.")


def _of_archive(path: Path, n_bytes: int) -> ModelFile:
    archive = read_archive(path)
    contents = read_hdf5(path, WEIGHTS) if WEIGHTS in archive.members else Hdf5Contents()
    metadata = archive.metadata if METADATA in archive.members else {}
    return _told(
        ModelFile(
            path=str(path),
            form="keras",
            file_bytes=n_bytes,
            keras_version=_text(metadata.get("keras_version")),
            saved=_text(metadata.get("date_saved")),
            compiled=_compiled(_mapping(archive.config.get("compile_config"))),
        ),
        archive.config,
        contents,
    )


def _of_hdf5(path: Path, n_bytes: int) -> ModelFile:
    contents = read_hdf5(path)
    told = contents.attributes
    try:
        config = json_object(told.get("model_config", "{}"), "its model_config")
        training = json_object(told.get("training_config", "{}"), "its training_config")
    except ValueError as exc:
        raise damaged(path, str(exc)) from exc
    if not contents.datasets and not config:
        raise damaged(path, "it is an HDF5 file, but no model is in it")
    compiled = {**training, "optimizer": training.get("optimizer_config")} if training else {}
    return _told(
        ModelFile(
            path=str(path),
            form="h5" if config else "weights",
            file_bytes=n_bytes,
            keras_version=told.get("keras_version", ""),
            backend=told.get("backend", ""),
            compiled=_compiled(compiled),
        ),
        config,
        contents,
    )


def _told(file: ModelFile, config: dict[str, Any], contents: Hdf5Contents) -> ModelFile:
    """The same with what the configuration and the arrays say."""
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
        own_parts=tuple(untrusted_parts(config)),
    )


def _stored_layers(contents: Hdf5Contents, kinds: Mapping[str, str]) -> tuple[StoredLayer, ...]:
    groups: dict[str, list[Dataset]] = {}
    for each in contents.datasets:
        if _top(each.path) not in _OPTIMIZER:
            groups.setdefault(_layer_of(each.path), []).append(each)
    found: list[StoredLayer] = []
    for place, arrays in groups.items():
        path = _named(place, contents.attributes)
        found.append(
            StoredLayer(
                path=path,
                kind=kinds.get(path.rpartition("/")[2], ""),
                parameters=sum(math.prod(each.shape) for each in arrays),
                stored_bytes=sum(each.stored_bytes for each in arrays),
                shapes=tuple(each.shape for each in arrays),
            )
        )
    return tuple(found)


def _top(path: str) -> str:
    return path.partition("/")[0]


def _layer_of(path: str) -> str:
    """The group of a layer that an array belongs to."""
    if _top(path) == _LEGACY_WEIGHTS:
        return path.split("/")[1]
    before, parted, _ = path.rpartition("/vars/")
    return before if parted else path.rpartition("/")[0]


def _named(place: str, attributes: Mapping[str, str]) -> str:
    """A layer's own name, behind those that it is in; its place where the file keeps no names."""
    names: list[str] = []
    parts = place.split("/")
    for n in range(1, len(parts) + 1):
        name = attributes.get(f"{'/'.join(parts[:n])}/vars@name")
        if name:
            names.append(name)
    return "/".join(names) or place or "(the model itself)"


def _kinds(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and class of each layer in a configuration, nested ones too."""
    layers = _mapping(config.get("config")).get("layers")
    for layer in cast("list[Any]", layers) if isinstance(layers, list) else []:
        told = _mapping(layer)
        yield _text(_mapping(told.get("config")).get("name")), _text(told.get("class_name"))
        yield from _kinds(told)


def _policies(config: Mapping[str, Any]) -> Iterator[str]:
    layers = _mapping(config.get("config")).get("layers")
    for layer in cast("list[Any]", layers) if isinstance(layers, list) else []:
        dtype = _mapping(_mapping(layer).get("config")).get("dtype")
        name = dtype if isinstance(dtype, str) else _mapping(_mapping(dtype).get("config"))
        name = name if isinstance(name, str) else name.get("name")
        if isinstance(name, str):
            yield name
        yield from _policies(_mapping(layer))


def _compiled(told: Mapping[str, Any]) -> Compiled | None:
    if not told:
        return None
    optimizer = told.get("optimizer")
    settings = _mapping(_mapping(optimizer).get("config"))
    kind = optimizer if isinstance(optimizer, str) else _mapping(optimizer).get("class_name")
    jit = told.get("jit_compile")
    return Compiled(
        optimizer=_text(kind),
        settings={name: value for name, value in settings.items() if value is not None},
        loss=", ".join(_names(told.get("loss"))),
        metrics=(*_names(told.get("metrics")), *_names(told.get("weighted_metrics"))),
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
        told = cast("dict[str, Any]", value)
        if "class_name" in told:
            inner = told.get("config")
            is_function = told["class_name"] == "function"
            yield _text(inner) if is_function else _text(told["class_name"])
        else:
            for name, each in told.items():
                yield f"{name}: {', '.join(_names(each))}"


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
