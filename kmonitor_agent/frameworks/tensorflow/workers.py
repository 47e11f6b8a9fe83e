# pyright: basic
"""Workers of a TensorFlow strategy: group that trains a model together, and its shared store.

The store is TensorFlow's coordination service, which MultiWorkerMirroredStrategy starts. Writing a
key that is there already fails for whoever comes second: so all read the same, and the first who
writes decides. No collective operation takes part, which all workers would have to run. All of it
runs on the training thread.
"""

import importlib
import sys
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Protocol, runtime_checkable

from kmonitor_agent.frameworks.base import KerasModel, missing_name_text, unavailable_text
from kmonitor_agent.frameworks.model_parts import strategy_of

_JOBS: Final = ("chief", "worker", "ps")
_ALIKE: Final = "CollectiveAllReduceStrategy"
"""Base of MultiWorkerMirroredStrategy, under which every worker runs the whole script."""

_ALONE: Final = 1


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The processes that train together.

    Attributes:
        count: Number of processes; 1 for a training of one process.
        name: Name of this process, such as "worker 1".
        is_chief: True if this process writes for all.
        members: Names of all processes if all run the same script; else empty.
    """

    count: int = _ALONE
    name: str = ""
    is_chief: bool = True
    members: tuple[str, ...] = ()

    def store(self, name: str) -> "CoordinationStore":
        """Store that the workers share.

        Args:
            name: The same for all workers, used once.

        Raises:
            NoCoordination: There is no coordination service.
        """
        return CoordinationStore(name, self.name)


@runtime_checkable
class HasWorkerGroup(Protocol):
    """Optional for reclaim steps: the other workers, where all can act as one."""

    def group(self, model: KerasModel) -> WorkerGroup:
        """Group of processes that train this model."""
        ...


def worker_group(model: KerasModel) -> WorkerGroup:
    """Group of processes that the model's strategy knows."""
    strategy = strategy_of(model)
    resolver = getattr(strategy, "cluster_resolver", None)
    if resolver is None:
        return WorkerGroup()
    cluster = resolver.cluster_spec().as_dict()
    count = sum(len(cluster.get(job, ())) for job in _JOBS)
    kind = str(resolver.task_type or "")
    index = int(resolver.task_id or 0)
    first = "chief" if "chief" in cluster else "worker"
    are_alike = any(cls.__name__ == _ALIKE for cls in type(strategy).__mro__)
    members = (f"{job} {n}" for job in _JOBS[:2] for n in range(len(cluster.get(job, ()))))
    return WorkerGroup(
        max(_ALONE, count),
        f"{kind} {index}",
        kind == first and index == 0,
        tuple(members) if are_alike else (),
    )


def why_not_alone(model: KerasModel, action: str) -> str:
    """Reason why this process must not do an action alone; empty if it may.

    Args:
        model: The model that is trained.
        action: "save", "export", "collect" or "reload".
    """
    workers = worker_group(model)
    if workers.count == _ALONE:
        return ""
    if action == "reload":
        agree = (
            why_no_coordination()
            or "they synchronize only at the end of an epoch, and only in fit with tf_keras"
        )
        return (
            f"{workers.count} workers train this model together: they reload at the same step or "
            f"not at all, so none of them reloaded ({agree}); save and collect still work"
        )
    if action == "export":
        return (
            f"{workers.count} workers train this model together, and saving with Keras needs all "
            "of them; kmonitor restore creates the file from the checkpoint, with the moving "
            "averages of this worker"
        )
    if action == "save" and not workers.is_chief:
        return f"{workers.name} leaves the checkpoint to the chief, which writes for all workers"
    return ""


_METHODS: Final = ("set_config_key_value", "get_config_key_value", "delete_config_key_value")
_ROOT: Final = "kmonitor"
_SLICE_S: Final = 1.0
"""Length of a wait, seconds: TensorFlow waits outside of Python, and Ctrl+C works between
waits."""


class NoCoordination(Exception):
    """Workers cannot reach each other in this way, or not any more.

    Attributes:
        why: The reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class CoordinationStore:
    """Texts by key, shared by all workers, each written once."""

    def __init__(self, name: str, me: str) -> None:
        """Check that values can be written, and that none is written over.

        Args:
            name: Name of the store; the same for all workers.
            me: This worker's name.

        Raises:
            NoCoordination: Values cannot be written, or would be overwritten.
        """
        self._context = _context()
        self._name = f"{_ROOT}/{name}"
        self.put(f"probe/{me}", me)
        if self.put(f"probe/{me}", me):
            raise NoCoordination(
                unavailable_text("TensorFlow", "its coordination service overwrites values")
            )

    def put(self, key: str, text: str) -> bool:
        """Write a value; False if the key has one already, which stays.

        Raises:
            NoCoordination: The service did not answer.
        """
        errors = sys.modules["tensorflow"].errors
        try:
            self._context.set_config_key_value(f"{self._name}/{key}", text)
        except errors.AlreadyExistsError:
            return False
        except errors.OpError as exc:
            raise _failed(exc) from exc
        return True

    def read(self, key: str, timeout_s: float) -> str | None:
        """Wait for a value and return it; None if it is not written in time.

        Raises:
            NoCoordination: The service did not answer.
        """
        errors = sys.modules["tensorflow"].errors
        until_s = monotonic() + timeout_s
        while (left_s := until_s - monotonic()) > 0:
            try:
                wait_ms = max(1, int(1000 * min(left_s, _SLICE_S)))
                return self._context.get_config_key_value(f"{self._name}/{key}", wait_ms)
            except errors.DeadlineExceededError:
                continue
            except errors.OpError as exc:
                raise _failed(exc) from exc
        return None

    def forget(self, key: str) -> None:
        """Delete a value that is no longer needed.

        Raises:
            NoCoordination: The service did not answer.
        """
        errors = sys.modules["tensorflow"].errors
        try:
            self._context.delete_config_key_value(f"{self._name}/{key}")
        except errors.OpError as exc:
            raise _failed(exc) from exc


def _failed(exc: Any) -> NoCoordination:
    return NoCoordination(f"TensorFlow's coordination service failed: {exc.message}")


def why_no_coordination() -> str:
    """Reason why there is no coordination service; empty if there is one."""
    try:
        _context()
    except NoCoordination as exc:
        return exc.why
    return ""


def _context() -> Any:
    try:
        context = importlib.import_module("tensorflow.python.eager.context").context()
        config = context.coordination_service
        for name in _METHODS:
            getattr(context, name)
        kind = "" if config is None else str(config.service_type)
    except (ImportError, AttributeError) as exc:
        raise NoCoordination(missing_name_text("TensorFlow", exc)) from exc
    if not kind:
        raise NoCoordination(
            "the strategy did not start a coordination service, without which workers cannot "
            "synchronize"
        )
    return context
