"""State of one fit for a later process of its run: variables in HDF5, the rest as JSON.

The JSON is the commit: it is written under another name, flushed to the disk and renamed once the
HDF5 file that it names is whole. The file of an earlier JSON is kept until then. Values in the
JSON are plain data, tagged with their types where JSON lacks them (`to_json`).
"""

import contextlib
import importlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np

from kmonitor_agent.frameworks.base import StateVariable
from kmonitor_agent.frameworks.resuming import IteratorStart
from kmonitor_agent.frameworks.script_values import (
    class_name,
    is_exactly,
    is_instance,
    is_known_class,
)
from kmonitor_agent.reclaim.checkpoint_seal import (
    CheckpointTag,
    NotACheckpoint,
    VariableToStore,
    read_header,
)
from kmonitor_agent.reclaim.checkpoints import Checkpoint, CheckpointStore, SaveRefused
from kmonitor_agent.reclaim.disk_file import fsync_folder
from kmonitor_agent.wire.local.private_files import (
    KEY_BYTES,
    open_new,
    read_plain,
    write_all,
    write_private,
)

FORMAT: Final = "kmonitor-fit-1"
STATE_BYTES: Final = 256 * 2**20
"""Maximum size of the JSON of a fit's state, bytes; arrays are in another file."""


@dataclass(frozen=True, slots=True)
class VariableFacts:
    """Identity of one saved variable, to find its counterpart.

    Attributes:
        path: Path such as "model/dense/kernel".
        shape: Shape as text.
    """

    path: str
    shape: str


@dataclass(frozen=True, slots=True)
class CallbackState:
    """Plain attributes of one callback of the fit.

    Attributes:
        kind: Name of its class.
        attributes: Attributes by name.
    """

    kind: str
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RestartOrigin:
    """Origin of the restart at which a state was saved.

    Attributes:
        command: Id of the command, or empty.
        requested_by: "script", "limit ram 80%", a user's name; empty without a request.
        left_wall_s: Time at which the process began to leave, UTC epoch seconds.
        record: Record of the restart so far, encoded; the next process completes it.
    """

    command: str = ""
    requested_by: str = ""
    left_wall_s: float = 0.0
    record: str = ""


@dataclass(frozen=True, slots=True)
class FitState:
    """State of a fit, without the values of its variables.

    Attributes:
        run: Run id.
        fit: Ordinal of the fit in the run, from 1.
        kind: Time of saving: the end of an epoch, or of the fit.
        model: Name of the model.
        next_epoch: Index of the epoch to continue with.
        epochs_run: Number of epochs that ran in the fit, over all processes.
        evaluations: Number of validations that ran in the fit, over all processes.
        stopped: True if a stop was requested: no epoch follows.
        build_config: Argument for `build_from_config`; None if the model has none.
        optimizers: For each optimizer, the indices of the model's variables that it trains.
        variables: Saved variables, in order.
        state_bytes: Size of the variables, bytes.
        callbacks: States of the callbacks, in the order of the fit.
        generators: States of the data's own random generators, in order.
        iterator: Start of the iterator with which the next epoch continues; None if it drew
            nothing.
        limits: Limits that were set by command, encoded; empty if there are none.
        left_out: State that could not be kept, as texts.
    """

    run: str
    fit: int
    kind: Literal["epoch", "end"]
    model: str
    next_epoch: int
    epochs_run: int
    evaluations: int = 0
    stopped: bool = False
    build_config: Any = None
    optimizers: tuple[tuple[int, ...], ...] = ()
    variables: tuple[VariableFacts, ...] = ()
    state_bytes: int = 0
    callbacks: tuple[CallbackState, ...] = ()
    random: dict[str, Any] = field(default_factory=dict[str, Any])
    generators: list[Any] = field(default_factory=list[Any])
    iterator: IteratorStart | None = None
    limits: str = ""
    origin: RestartOrigin = RestartOrigin()
    left_out: tuple[str, ...] = ()


class CannotResume(Exception):
    """A fit's saved state does not match the script; continuing would change the result.

    Attributes:
        why: The difference and the remedy, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class FitStateStore:
    """States of a run's fits in one folder; owned by the training thread."""

    def __init__(self, folder: Path) -> None:
        """Nothing is created before the first save.

        Args:
            folder: Folder of the run, in the folder of the supervision.
        """
        self._folder = folder

    def save(
        self, state: FitState, variables: Sequence[StateVariable], read: Callable[[Any], Any]
    ) -> Checkpoint:
        """Commit a state, replacing the fit's earlier one.

        Args:
            state: State without the values.
            variables: Variables in the order of `state.variables`.
            read: Returns a variable's value as a numpy array.

        Raises:
            SaveRefused: No space or no permission; the earlier state stays.
        """
        array_store = ArrayStore()
        plain = to_json(_as_dict(state), array_store)
        stored = [VariableToStore(each.path, each.n_bytes, each.variable) for each in variables]
        known = {id(each.variable) for each in stored}
        stored += [VariableToStore("array", each.nbytes, each) for each in array_store.arrays]
        tag = CheckpointTag(state.run, state.fit, max(0, state.next_epoch - 1))
        store = CheckpointStore(self._store_folder(state.fit))
        saved = store.save(stored, lambda each: read(each) if id(each) in known else each, tag=tag)
        document = {
            "format": FORMAT,
            "file": saved.path.name,
            "checksum": saved.checksum,
            "crc32": _crc_of(plain),
            "state": plain,
        }
        try:
            _commit(self._path(state.fit), json.dumps(document).encode())
        except OSError as exc:
            raise SaveRefused(f"the fit's state could not be committed: {exc}"[:1000]) from exc
        return saved

    def read(self, fit: int) -> "SavedFit | None":
        """Committed state of a fit; None if it has none.

        Raises:
            CannotResume: The saved state cannot be read.
        """
        try:
            document = json.loads(read_plain(self._path(fit), STATE_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as exc:
            raise CannotResume(f"the saved state of fit {fit} cannot be read: {exc}") from exc
        return SavedFit(document, self._store_folder(fit))

    def mark_as_resumed(self, fit: int, checksum: str) -> bool:
        """Mark a state as resumed; True for the first time, False if resumed again after a crash.

        Raises:
            OSError: The mark could not be written.
        """
        path = self._folder / f"{fit}.resumed"
        try:
            if read_plain(path, KEY_BYTES) == checksum.encode():
                return False
        except FileNotFoundError:
            pass
        write_private(path, checksum.encode())
        return True

    def forget(self, fit: int) -> None:
        """Drop a fit's state: the fit starts from the beginning."""
        with contextlib.suppress(OSError):
            self._path(fit).unlink()

    def _path(self, fit: int) -> Path:
        return self._folder / f"{fit}.json"

    def _store_folder(self, fit: int) -> Path:
        return self._folder / f"fit-{fit}"


def _commit(path: Path, data: bytes) -> None:
    fresh = path.with_name(f"{path.name}.new")
    descriptor = open_new(fresh)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(path)
    fsync_folder(path.parent)


def _crc_of(plain: Any) -> int:
    return zlib.crc32(json.dumps(plain).encode())


def _as_dict(state: FitState) -> dict[str, Any]:
    data = {name: getattr(state, name) for name in FitState.__dataclass_fields__}
    data["variables"] = [asdict(each) for each in state.variables]
    data["callbacks"] = [
        {"kind": each.kind, "attributes": each.attributes} for each in state.callbacks
    ]
    data["origin"] = asdict(state.origin)
    data["iterator"] = None if state.iterator is None else asdict(state.iterator)
    return data


def _from_dict(data: dict[str, Any]) -> FitState:
    data["variables"] = tuple(VariableFacts(**each) for each in data["variables"])
    data["callbacks"] = tuple(CallbackState(**each) for each in data["callbacks"])
    data["origin"] = RestartOrigin(**data["origin"])
    if data["iterator"] is not None:
        data["iterator"] = IteratorStart(**data["iterator"])
    return FitState(**data)


class SavedFit:
    """A committed state, opened: small values are read, variables not yet."""

    def __init__(self, document: Any, folder: Path) -> None:
        """Read everything except the variables.

        Raises:
            CannotResume: The state is damaged.
        """
        try:
            self._path = folder / str(document["file"])
            header = read_header(self._path)
            is_same = document["crc32"] == _crc_of(document["state"])
            is_same = is_same and header.checksum == document["checksum"]
            if document["format"] != FORMAT or not is_same:
                raise CannotResume(
                    f"the saved state {self._path} is not the one that was committed"
                )
            # The arrays follow the variables; the JSON has the number of these.
            self._n_variables = len(untag_dict(document["state"])["variables"]["list"])
            self.checksum = header.checksum
            store = ArrayStore(list(islice(self._values(), self._n_variables, None)))
            self.state = _from_dict(from_json(document["state"], store))
        except (OSError, KeyError, TypeError, ValueError, IndexError) as exc:
            raise CannotResume(f"the saved state of a fit is damaged: {exc}") from exc
        except NotACheckpoint as exc:
            raise CannotResume(f"the saved state of a fit is damaged: {exc.why}") from exc

    def values(self) -> Iterator[Any]:
        """Values of the variables in order, read from the disk, one in memory at a time.

        Raises:
            CannotResume: The file is damaged.
        """
        try:
            yield from islice(self._values(), self._n_variables)
        except (OSError, NotACheckpoint) as exc:
            raise CannotResume(f"the saved state {self._path} is damaged: {exc}") from exc

    def _values(self) -> Iterator[Any]:
        checkpoint = cast("Any", _Named(self._path))
        return CheckpointStore(self._path.parent).read(checkpoint)


@dataclass(frozen=True, slots=True)
class _Named:
    path: Path


def untag_dict(tagged: Any) -> dict[str, Any]:
    """Dict with string keys from its JSON form; values stay in JSON form."""
    return {str(key): value for key, value in tagged["dict"]}


def variable_facts(variables: Sequence[StateVariable]) -> tuple[VariableFacts, ...]:
    """Paths and shapes by which saved variables are found later."""
    return tuple(VariableFacts(each.path, shape_text(each.variable)) for each in variables)


def shape_text(variable: Any) -> str:
    return str(tuple(int(n) for n in variable.shape))


class NotPlainAttribute(Exception):
    """A value that is not plain data.

    Attributes:
        kind: Name of its type.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(slots=True)
class ArrayStore:
    """Arrays saved beside the JSON, which refers to them by index.

    Attributes:
        arrays: The arrays, in order.
    """

    arrays: list[Any] = field(default_factory=list[Any])

    @property
    def n_bytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays)

    def put(self, array: Any) -> int:
        """Add an array; return its index."""
        self.arrays.append(array)
        return len(self.arrays) - 1


_DEEPEST: Final = 16


def to_json(value: object, store: ArrayStore, depth: int = 0) -> Any:
    """JSON form of a value.

    Args:
        value: None, numbers, strings, lists, tuples, dicts, numpy values, and the comparisons that
            Keras' callbacks keep as `monitor_op`.
        depth: Number of containers around it.

    Raises:
        NotPlainAttribute: The value is, or contains, something else.
    """
    if value is None or is_instance(value, bool):
        return value
    if is_instance(value, str):
        return str.__str__(cast("str", value))
    if is_instance(value, np.generic, np.ndarray) and is_known_class(type(value)):
        return _array_to_json(value, store)
    if is_instance(value, int, float):
        return _number_to_json(cast("float", value))
    if depth < _DEEPEST and is_instance(value, list, tuple, dict):
        return _container_to_json(cast("Any", value), store, depth + 1)
    if comparison := _comparison_name(value):
        return {"comparison": comparison}
    raise NotPlainAttribute(class_name(type(value)))


def is_array(value: object) -> bool:
    return is_instance(value, np.ndarray) and is_known_class(type(value))


def _number_to_json(value: float) -> Any:
    # By the methods of Python's own class: the script's may have others.
    if isinstance(value, float):
        return {"float": float.__float__(value).hex()}
    number = int.__int__(value)
    # Other readers of JSON round larger ones.
    return {"int": str(number)} if abs(number) >= 1 << 53 else number


def _array_to_json(value: Any, store: ArrayStore) -> Any:
    if value.dtype.hasobject or value.dtype.kind in "USVmM":
        raise NotPlainAttribute(f"{class_name(cast('Any', type(value)))} of {value.dtype}")
    if is_instance(value, np.generic):
        return {"scalar": store.put(np.asarray(value))}
    return {"array": store.put(value)}


def _container_to_json(value: Any, store: ArrayStore, depth: int) -> Any:
    # A subclass (a named tuple, a Counter) cannot be made from its items alone.
    name = class_name(cast("Any", type(value)))
    if type(value) is dict:
        pairs: Any = value.items()  # pyright: ignore[reportUnknownVariableType]
        return {"dict": [[to_json(part, store, depth) for part in pair] for pair in pairs]}
    if is_exactly(value, list, tuple):
        return {name: [to_json(each, store, depth) for each in value]}
    raise NotPlainAttribute(name)


_COMPARISONS: Final = ("less", "greater")
_COMPARED_BY: Final = ("numpy", "keras.ops")


def _comparison_name(value: object) -> str:
    # Kept, not left to Keras: choosing the comparison it turns the sign of `min_delta`, which some
    # versions do at an epoch's end, and would turn it twice.
    for module in _COMPARED_BY:
        for name in _COMPARISONS:
            loaded: Any = sys.modules.get(module)
            if loaded is not None and getattr(loaded, name, None) is value:
                return f"{module}:{name}"
    return ""


def from_json(tagged: Any, store: ArrayStore) -> Any:
    """Value from its JSON form.

    Raises:
        ValueError: The argument is not a result of `to_json`.
    """
    if not isinstance(tagged, dict):
        return tagged
    (kind, inner), *more = cast("dict[str, Any]", tagged).items()
    if more or kind not in _READERS:
        raise ValueError(f"a value of type {kind}")
    return _READERS[kind](inner, store)


def _read_dict(inner: Any, store: ArrayStore) -> Any:
    return {from_json(key, store): from_json(each, store) for key, each in inner}


def _comparison(written: str) -> Any:
    module, _, name = written.partition(":")
    if module not in _COMPARED_BY or name not in _COMPARISONS:
        raise ValueError(f"a comparison called {written}")
    return getattr(importlib.import_module(module), name)


_READERS: Final[dict[str, Callable[[Any, ArrayStore], Any]]] = {
    "int": lambda inner, _: int(inner),
    "float": lambda inner, _: float.fromhex(inner),
    "array": lambda inner, store: store.arrays[inner],
    "scalar": lambda inner, store: store.arrays[inner][()],
    "list": lambda inner, store: [from_json(each, store) for each in inner],
    "tuple": lambda inner, store: tuple(from_json(each, store) for each in inner),
    "dict": _read_dict,
    "comparison": lambda inner, _: _comparison(str(inner)),
}
