"""`kmonitor restore`: a checkpoint's weights and optimizer as a `.keras` file."""

import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.cli.common.terminal import DONE, print_text

Package = Literal["keras", "tf_keras"]


def restore(
    checkpoint: Path,
    /,
    *,
    into: Annotated[Path, Parameter(name="--into")],
    like: Annotated[Path | None, Parameter(name="--like")] = None,
    package: Annotated[Package, Parameter(name="--with")] = "keras",
) -> int:
    """Write a `.keras` file with the weights and the optimizer of a checkpoint.

    Example: `kmonitor restore CHECKPOINT --into model.keras`

    The architecture is taken from `--like`, otherwise from the file to be written if it exists,
    otherwise from the checkpoint, from other checkpoints of its fit in the same folder, or from
    the `.keras` file beside it. The file is written completely or not at all. Keras stores no
    seeds in it: training continues exactly only in its own process, or under `kmonitor run`.

    Every byte of the checkpoint is checked first.

    Args:
        checkpoint: A file that `kmonitor checkpoints RUN` lists.
        into: The `.keras` file to write; replaces an existing one once it is complete.
        like: A `.keras` file of the same model, if the checkpoint does not describe it.
        package: The Keras package that the model was trained with.
    """
    if into.suffix != ".keras":
        raise UserError(f"{into} is not a .keras file.", "For example: --into model.keras")
    for path in (checkpoint, *([like] if like is not None else [])):
        if not path.is_file():
            raise UserError(
                f"File not found: {path}.", "List the checkpoints: kmonitor checkpoints RUN"
            )
    keras = _imported(package)
    from kmonitor_agent.restoring import CannotRestore, restore_into  # noqa: PLC0415 - numpy

    try:
        restored = restore_into(keras, checkpoint.absolute(), into.absolute(), like=like)
    except CannotRestore as exc:
        raise UserError(exc.why, exc.remedy) from exc
    header = restored.header
    step = f", step {header.tag.step}" if header.tag.step else ""
    print_text(
        f"{into}: {restored.variables} variables of fit {header.tag.fit}, epoch"
        f" {header.tag.epoch + 1}{step}, run {header.tag.run}, {header.checksum}"
    )
    if restored.left_out:
        print_text(
            f"Left out of the file, because the format cannot store it: {restored.left_out}."
        )
    return DONE


def _imported(package: Package) -> Any:
    if find_spec(package) is None:
        raise UserError(
            f"A checkpoint can be restored only where {package} is installed.",
            "Run this in the Python environment used for training.",
        )
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Only weights are read and written: no device is wanted, which a training may fill.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    warnings.simplefilter("ignore")
    try:
        return import_module(package)
    except Exception as exc:
        raise UserError(
            f"{package} cannot be imported: {type(exc).__name__}: {exc}",
            "Run this in the Python environment used for training; KERAS_BACKEND chooses the"
            " backend.",
        ) from exc
