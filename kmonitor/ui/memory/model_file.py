"""Content of a model file as shown in its window: facts, layers, and settings as short text."""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from kmonitor.memory.model_files.inspection import CompileSettings, ModelFile
from kmonitor.ui.text.formats import bytes_text, count_text
from kmonitor.ui.text.language import later, tr

_FORMS: Final = {
    "keras": later("Keras archive"),
    "h5": later("HDF5 model"),
    "weights": later("HDF5, weights only"),
    "json": later("JSON, architecture only"),
}


@dataclass(frozen=True, slots=True)
class FileFact:
    title: str
    value: str


@dataclass(frozen=True, slots=True)
class ModelFileState:
    """The right side of the file's window.

    Attributes:
        facts: Origin and compilation of the model.
        layers: Path, kind, parameters, size in the file, and shapes, a row each.
        text: Reason why there is nothing to show, or not yet.
    """

    facts: tuple[FileFact, ...] = ()
    layers: tuple[tuple[str, ...], ...] = ()
    text: str = ""


def reading_file() -> ModelFileState:
    return ModelFileState(text=tr("Reading the file\u2026"))


def refused_file(what: str, remedy: str) -> ModelFileState:
    return ModelFileState(text="\n".join(part for part in (what, remedy) if part))


def model_file_state(found: ModelFile) -> ModelFileState:
    layers = tuple(
        (
            each.path,
            each.kind,
            count_text(each.parameters),
            bytes_text(each.stored_bytes),
            " ".join(str(shape) for shape in each.shapes),
        )
        for each in found.layers
    )
    return ModelFileState(tuple(_facts(found)), layers)


def _facts(found: ModelFile) -> list[FileFact]:
    facts = [
        (tr("File"), f"{tr(_FORMS[found.form])}, {bytes_text(found.file_bytes)}"),
        (tr("Model"), f"{found.model} ({found.kind})" if found.model else ""),
        (tr("Precision"), ", ".join(found.precision)),
        (tr("Written by"), _versions(found)),
        (tr("Saved"), found.saved),
        (tr("Weights"), tr("{size} in the file, {n} values").format(
            size=bytes_text(found.weight_bytes), n=count_text(found.parameters))
            if found.form != "json" else tr("none in the file")),
        (tr("Optimizer state"), tr("{size} in {n} arrays").format(
            size=bytes_text(found.slot_bytes), n=count_text(found.slots))
            if found.slots else tr("none in the file")),
        *_compiled(found.compile_settings),
        (tr("Custom classes"), ", ".join(found.own_parts)),
    ]  # fmt: skip
    return [FileFact(title, value) for title, value in facts if value]


def _versions(found: ModelFile) -> str:
    keras = f"Keras {found.keras_version}" if found.keras_version else ""
    return ", ".join(part for part in (keras, found.backend) if part)


def _compiled(compile_settings: CompileSettings | None) -> list[tuple[str, str]]:
    if compile_settings is None:
        return [(tr("Compiled"), tr("no, or not recorded in the file"))]
    return [
        (tr("Optimizer"), compile_settings.optimizer or tr("none")),
        (tr("Optimizer settings"), settings_text(compile_settings.settings)),
        (tr("Loss"), compile_settings.loss or tr("none")),
        (tr("Metrics"), ", ".join(compile_settings.metrics) or tr("none")),
        (
            tr("jit_compile"),
            "" if compile_settings.jit_compile is None else str(compile_settings.jit_compile),
        ),
    ]


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as text: `learning_rate=0.001, beta_1=0.9`; no object names or unset values."""
    return ", ".join(_settings(settings))


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name != "name" and value is not None:
            yield f"{name}={_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return setting_number_text(value)
    if isinstance(value, list):
        return f"[{', '.join(_value_text(each) for each in cast('list[Any]', value))}]"
    if isinstance(value, dict):
        config = cast("dict[str, Any]", value)
        inner = config.get("config")
        if isinstance(config.get("class_name"), str) and isinstance(inner, dict):
            return f"{config['class_name']}({settings_text(cast('dict[str, Any]', inner))})"
    return json.dumps(value)


_MOST_DIGITS: Final = 9
"""Digits that distinguish any two float32 numbers. Source: IEEE 754, 5.12.2."""


def setting_number_text(value: float) -> str:
    """Write a number with the digits that the user set: optimizers store numbers as float32.

    Args:
        value: Number in the file, such as 0.0010000000474974513 for the float32 of 0.001.
    """
    try:
        is_short = struct.unpack("f", struct.pack("f", value))[0] == value
    except OverflowError:
        is_short = False
    if is_short:
        for digits in range(1, _MOST_DIGITS + 1):
            shorter = float(f"{value:.{digits}g}")
            if struct.unpack("f", struct.pack("f", shorter))[0] == value:
                return json.dumps(shorter)
    return json.dumps(value)
