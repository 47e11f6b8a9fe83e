"""Restoring a checkpoint's state into a model of the script, or into a `.keras` file.

A checkpoint holds values and, where the model has one, the text from which it can be built. All is
checked before the first variable is touched: a checkpoint that does not fit changes nothing.
"""

import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel, ReclaimSteps, StateUnreadable, StateVariable
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.model_building import model_from_architecture
from kmonitor_agent.reclaim import checkpoint_file
from kmonitor_agent.reclaim.checkpoint_seal import (
    CheckpointHeader,
    NotACheckpoint,
    StoredVariableFacts,
    read_header,
)
from kmonitor_agent.reclaim.checkpoints import (
    ExportFailed,
    commit_export,
    export_path,
    unfinished_export_path,
)

_EXACT: Final = ("model", "optimizer")
"""Groups whose every variable must fit. Metrics are reset in a new fit, and Keras' global seed is
not the model's: these are put back where they fit."""


class CannotRestore(Exception):
    """A checkpoint could not be restored; the model or target file is unchanged.

    Attributes:
        remedy: Advice for the user; may be empty.
    """

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(f"{why} {remedy}".strip())
        self.why = why
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of `restore`.

    Attributes:
        header: Header of the checkpoint: `tag` (run, fit, epoch), `wall_s` (UTC epoch seconds),
            `variables`, `state_bytes` and `checksum`.
        variables: Number of restored variables.
        left_out: Variables that were not restored, as text such as "2 of metrics"; empty if there
            are none.
    """

    header: CheckpointHeader
    variables: int
    left_out: str = ""


def restore(model: KerasModel, checkpoint: str | os.PathLike[str]) -> Restored:
    """Restore the exact state of a checkpoint into a model.

    Args:
        model: A Keras model, built and compiled like the model that was saved. A model without an
            optimizer gets the weights only.
        checkpoint: Path of the checkpoint, as `kmonitor checkpoints` lists it.

    Returns:
        `header` of the checkpoint, number of restored `variables`, and what was `left_out`.

    Raises:
        kmonitor_agent.restoring.CannotRestore: The file is missing or damaged, the model is not
            built, is not a Keras model that kmonitor supports, or has other variables, shapes or
            dtypes. The model is unchanged. To catch it, write `from kmonitor_agent.restoring
            import CannotRestore`.
    """
    path = Path(checkpoint)
    return _restore(model, path, _verified_header(path))


def restore_into(
    keras: Any, checkpoint: Path, target: Path, *, like: Path | None = None
) -> Restored:
    """Write a `.keras` file with a checkpoint's weights and optimizer, whole or not at all.

    The architecture is taken from `like`, else from the target file if it exists, else from the
    checkpoint, else from another checkpoint of the same fit, else from the checkpoint's export.

    Args:
        keras: The package to use, `keras` or `tf_keras`.
        target: The file to write; an existing file is replaced at the end.
        like: A `.keras` file of the same model.

    Raises:
        CannotRestore: The checkpoint does not fit, the model cannot be created, or the file cannot
            be written.
    """
    if target.is_dir():
        raise CannotRestore(
            f"{target} is a folder.", "Pass the path of the file to write, such as model.keras"
        )
    path = checkpoint.resolve()  # the user named it, perhaps by a link
    header = _verified_header(path)
    model = _new_model(keras, path, header, like or (target if target.exists() else None))
    restored = _restore(model, path, header)
    unfinished = unfinished_export_path(target)
    try:
        model.save(unfinished)
        _check_written(keras, unfinished, model)
        commit_export(unfinished, target)
    except (OSError, ExportFailed, ValueError, zipfile.BadZipFile) as exc:
        why = exc.why if isinstance(exc, ExportFailed) else f"{type(exc).__name__}: {exc}"
        why = why.replace(str(unfinished), str(target))  # the requested one
        raise CannotRestore(f"{target} could not be written: {why}") from exc
    finally:
        unfinished.unlink(missing_ok=True)
    return restored


def _verified_header(path: Path) -> CheckpointHeader:
    try:
        checkpoint_file.verify_checkpoint(path)
        return read_header(path)
    except NotACheckpoint as exc:
        raise CannotRestore(f"{path} is a damaged checkpoint: {exc.why}.") from exc
    except OSError as exc:
        raise CannotRestore(f"{path} cannot be read as a checkpoint: {exc}.") from exc


def _restore(model: KerasModel, path: Path, header: CheckpointHeader) -> Restored:
    facts = checkpoint_file.read_variable_facts(path)
    steps = framework_for(model).reclaim_steps()
    if steps is None:
        raise CannotRestore("this is not a Keras model that kmonitor supports")
    _build_optimizer(model)
    try:
        chosen = _pair(facts, steps.state(model), has_optimizer=_has_optimizer(model))
    except StateUnreadable as exc:
        raise CannotRestore(exc.why, "Build and compile it first.") from exc
    _assign(path, steps, chosen)
    restored = sum(variable is not None for variable in chosen)
    return Restored(header, restored, _left_out(facts, chosen))


def _pair(
    facts: Sequence[StoredVariableFacts], state: Sequence[StateVariable], *, has_optimizer: bool
) -> list[StateVariable | None]:
    """For each stored variable the model's variable that takes its value; None if left out."""
    available = {
        group: [each for each in state if _group(each.path) == group] for group in _groups(facts)
    }
    targets: list[StateVariable | None] = []
    for stored in facts:
        group = _group(stored.path)
        variable = available[group].pop(0) if available[group] else None
        if group == "optimizer" and not has_optimizer:
            variable = None
        elif group in _EXACT:
            _check(stored, variable)
        elif variable is None or _differs(stored, variable):
            variable = None
        targets.append(variable)
    for group in _EXACT:
        for extra in available.get(group, ()):
            raise CannotRestore(
                f"The model has {extra.path} {_shape(extra)}, which the checkpoint does not have.",
                "It was saved from a different model.",
            )
    return targets


def _check(stored: StoredVariableFacts, variable: StateVariable | None) -> None:
    stored_text = f"{stored.path} {stored.shape} {stored.dtype}"
    if variable is None:
        raise CannotRestore(
            f"The checkpoint has {stored_text}, which the model does not have.",
            "It was saved from a different model.",
        )
    if _differs(stored, variable):
        raise CannotRestore(
            f"The checkpoint has {stored_text}, but the model has {variable.path}"
            f" {_shape(variable)} {_dtype(variable)}.",
            "It was saved from a different model.",
        )


def _differs(stored: StoredVariableFacts, variable: StateVariable) -> bool:
    return stored.shape != _shape(variable) or stored.dtype != _dtype(variable)


def _assign(path: Path, steps: ReclaimSteps, chosen: Sequence[StateVariable | None]) -> None:
    # No zip: it would hold one value while the next is read.
    values = checkpoint_file.read_variables(path)
    for state_variable in chosen:
        value = next(values)
        if state_variable is not None:
            steps.assign(state_variable.variable, value)


def _left_out(facts: Sequence[StoredVariableFacts], chosen: Sequence[StateVariable | None]) -> str:
    groups = [
        _group(stored.path) for stored, mine in zip(facts, chosen, strict=True) if mine is None
    ]
    return ", ".join(f"{groups.count(each)} of {each}" for each in dict.fromkeys(groups))


def _new_model(keras: Any, path: Path, header: CheckpointHeader, like: Path | None) -> KerasModel:
    if like is not None:
        return _loaded(keras, like)
    architecture = checkpoint_file.read_architecture(path)
    architecture = architecture or next(_architectures_nearby(path, header), "")
    if architecture:
        try:
            return model_from_architecture(keras, architecture)
        except Exception as exc:
            raise _model_not_created(f"{type(exc).__name__}: {exc}") from exc
    if export_path(path).exists():
        return _loaded(keras, export_path(path))
    raise _model_not_created(
        f"neither this checkpoint nor any other from the same fit in {path.parent} describes the "
        "model; checkpoints written by a save do, but those written by a reload do not"
    )


def _model_not_created(why: str) -> CannotRestore:
    return CannotRestore(
        f"The model cannot be created: {why[:1000]}.",
        "Pass a .keras file of the same model with --like, or restore in the script that"
        " creates the model: from kmonitor_agent import restore; restore(model, CHECKPOINT)",
    )


def _loaded(keras: Any, path: Path) -> KerasModel:
    try:
        return _load(keras, path)
    except Exception as exc:
        raise _model_not_created(f"{path} cannot be loaded: {type(exc).__name__}: {exc}") from exc


def _load(keras: Any, path: Path) -> KerasModel:
    # There is HDF5 within, whose library one wrong bit can crash: its bytes are proved first.
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} in it is damaged")
    with warnings.catch_warnings():
        # Keras warns about an optimizer that had made no step yet, and about models that are
        # not compiled.
        warnings.simplefilter("ignore")
        return keras.saving.load_model(path)


def _architectures_nearby(path: Path, header: CheckpointHeader) -> Iterator[str]:
    """Architectures in other checkpoints of the same fit, of those that have one."""
    for other in sorted(path.parent.glob("*.h5")):
        try:
            tag = read_header(other).tag
            if (tag.run, tag.fit) == (header.tag.run, header.tag.fit) and other != path:
                yield from filter(None, [checkpoint_file.read_architecture(other)])
        except (OSError, NotACheckpoint):
            continue


def _check_written(keras: Any, written: Path, model: KerasModel) -> None:
    """Check that the file that Keras wrote loads with the same weights."""
    again = _load(keras, written)
    weights = model.get_weights()
    loaded_weights = again.get_weights()
    same = len(weights) == len(loaded_weights) and all(
        one.tobytes() == other.tobytes()
        for one, other in zip(weights, loaded_weights, strict=True)
    )
    if not same:
        raise ExportFailed("the file that Keras wrote does not load with the same weights")


def _build_optimizer(model: KerasModel) -> None:
    # Its slots are made at the first step, which would be too late for what was saved of them.
    optimizer = getattr(model, "optimizer", None)
    build: Any = getattr(optimizer, "build", None)
    is_built = getattr(optimizer, "built", getattr(optimizer, "_built", False))  # tf_keras' own
    if getattr(model, "built", False) and callable(build) and not is_built:
        build(model.trainable_variables)


def _has_optimizer(model: KerasModel) -> bool:
    return getattr(model, "optimizer", None) is not None


def _groups(facts: Sequence[StoredVariableFacts]) -> set[str]:
    return {*_EXACT, *(_group(each.path) for each in facts)}


def _group(path: str) -> str:
    return path.partition("/")[0]


def _shape(state: StateVariable) -> tuple[int, ...]:
    return tuple(int(length) for length in state.variable.shape)


def _dtype(state: StateVariable) -> str:
    dtype = state.variable.dtype
    return str(getattr(dtype, "name", dtype))
