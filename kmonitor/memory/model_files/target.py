"""What `kmonitor map` and kin are pointed at: a model file, or a function of a script."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from kmonitor.base.errors import Expected
from kmonitor.memory.model_files.archive import (
    damaged,
    json_object,
    read_archive,
    read_json,
    see_layers,
    size_of,
)
from kmonitor.memory.model_files.description import ModelSource
from kmonitor.memory.model_files.hdf5 import read_hdf5
from kmonitor.memory.model_files.trust import HOLDS_CODE, untrusted_parts

_KINDS = "a .keras, .h5 or .json file, or script.py:function"


def source_of(
    target: str,
    *,
    config: Path | None = None,
    custom: Path | None = None,
    allow_code: bool = False,
) -> ModelSource:
    """Where to make the model from; a file's classes are checked before anything is made.

    Args:
        target: A file, or `script.py:function`.
        config: A JSON file with the model's architecture, for files that have weights alone.
        custom: A Python file with custom classes, which will be run.
        allow_code: Whether code that is in the file may run.

    Raises:
        Expected: There is no such file, it is damaged, or it would run code.
    """
    script, parted, function = target.rpartition(":")
    if parted and script.endswith(".py"):
        return ModelSource(script=str(_file(Path(script))), function=function)
    path = _file(Path(target))
    if path.suffix == ".py":
        raise Expected(f"{target} needs a function that makes the model.",
                       f"For example: {target}:build_model")  # fmt: skip
    model, compiled, telling = _told_by(path, config)
    if not allow_code:
        _see_trust(telling, [model, compiled], custom)
    return ModelSource(
        config=json.dumps(model),
        compile_config=json.dumps(compiled) if compiled else "",
        module=str(_file(custom)) if custom else "",
        is_trusted=allow_code,
    )


def configs_of(path: Path, config: Path | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """A file's configuration of the model, and of how it is compiled; the latter may be empty.

    That of an old `.h5` file has another form, with an `optimizer_config`.

    Raises:
        Expected: It is damaged, of another kind, or has weights alone and `config` is None.
    """
    return _told_by(path, config)[:2]


def _told_by(path: Path, config: Path | None) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """The same, and the file that says it."""
    if path.suffix == ".json":
        return *_split(read_json(path)), path
    if path.suffix == ".keras":
        return *_split(read_archive(path).config), path
    if path.suffix in (".h5", ".hdf5"):
        told = read_hdf5(path).attributes
        if "model_config" in told:
            return *_of_h5(path, told), path
        if config is None:
            raise Expected(
                f"{path} has weights alone; it does not say what the model is made of.",
                "Give its architecture, as model.to_json() wrote it: --config model.json",
            )
        return *_split(read_json(_file(config))), config
    raise Expected(f"{path} is no model file that is known.", f"Give {_KINDS}.")


def _file(path: Path) -> Path:
    if not path.exists():
        raise Expected(f"There is no file {path}.", f"Give {_KINDS}.")
    size_of(path)
    return path.absolute()


def _split(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    compiled = config.get("compile_config")
    if not isinstance(config.get("class_name"), str):
        raise Expected("The file's configuration names no class of model.")
    told = cast("dict[str, Any]", compiled) if isinstance(compiled, dict) else {}
    if not told.get("optimizer"):
        told = {}  # what `to_json` leaves of it; Keras would take an optimizer of its own choice
    return {name: value for name, value in config.items() if name != "compile_config"}, told


def _of_h5(path: Path, told: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        model = json_object(told["model_config"], "its model_config")
        training = json_object(told.get("training_config", "{}"), "its training_config")
    except ValueError as exc:
        raise damaged(path, str(exc)) from exc
    see_layers(path, model)
    return _split(model)[0], training if training.get("optimizer_config") else {}


def _see_trust(path: Path, configs: list[dict[str, Any]], custom: Path | None) -> None:
    parts = [part for config in configs for part in untrusted_parts(config)]
    holding = [part for part in parts if part.endswith(HOLDS_CODE)]
    if holding or (parts and custom is None):
        raise Expected(
            f"{path} names what is not Keras' own: {', '.join((holding or parts)[:5])}.",
            "Custom classes: --custom classes.py runs that file. Code inside the file runs only"
            " with --allow-code; trust its maker first.",
        )
