"""Ray for folds: connecting or starting, resources, tasks; imported late."""

import importlib
import logging
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.studies.carried_function import FoldsRefused
from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.local.private_files import make_folder, write_private
from kmonitor_agent.wire.messages.study_events import FoldCause
from kmonitor_agent.wire.text import binary_size

_NOT_INSTALLED: Final = (
    'run_folds: on="ray" needs Ray, which is not installed here. Install it where kmonitor is'
    ' installed, on every node: python -m pip install "ray>=2.40", or kmonitor from its clone with'
    ' python -m pip install ".[ray]".'
)
_CLIENT: Final = (
    "run_folds: no fold was started: this script connects to Ray through Ray Client"
    " (ray://...), which cannot track tasks. Start the script on a node of the cluster, or"
    " with\n\n    ray job submit --working-dir . -- python train.py"
)
_ADDRESS: Final = "RAY_ADDRESS"
_NO_STATISTICS: Final = "RAY_USAGE_STATS_ENABLED"
_GET_WITHIN_S: Final = 60.0
_ENDS_WITHIN_S: Final = 10.0
_MOST_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class TaskResources:
    """Resources that each fold requests from a node.

    Attributes:
        gpus: Number of GPUs.
        memory_bytes: Memory, bytes; 0: unspecified.
        cpus: Number of processors.
    """

    gpus: int
    memory_bytes: int
    cpus: int = 1


class TaskFailed(Exception):
    """Ray ended a task, or could not start it.

    Attributes:
        cause: Cause of the attempt's end.
        why: The reason, as text.
        is_set_up: True if no task can start, not even the next one.
    """

    def __init__(self, cause: FoldCause, why: str, *, is_set_up: bool = False) -> None:
        super().__init__(why)
        self.cause: FoldCause = cause
        self.why = why
        self.is_set_up = is_set_up


class RayCluster:
    """A cluster that this process is connected to; for one thread.

    Attributes:
        task_resources: Resources that each fold requests from a node.
    """

    def __init__(self, ray: Any) -> None:
        """Use this Ray; folds request nothing yet."""
        self._ray = ray
        self.task_resources = TaskResources(gpus=0, memory_bytes=0)
        self._writes: list[Any] = []

    def need(self, memory: str | float | None) -> None:
        """Determine the resources of each fold on this cluster: a GPU if there are any.

        Args:
            memory: As for `run_folds`; a percentage refers to the smallest node.

        Raises:
            FoldsRefused: No node has these resources.
        """
        nodes = self._nodes()
        gpus = int(any(node.get("GPU", 0.0) >= 1 for node in nodes))
        resources = TaskResources(gpus, _requested_bytes(memory, nodes))
        if not any(_fits(node, resources) for node in nodes):
            most = max((node.get("memory", 0.0) for node in nodes), default=0.0)
            raise FoldsRefused(
                "run_folds: no fold was started: no node of the Ray cluster has a CPU,"
                f" {resources.gpus} GPU and memory={binary_size(resources.memory_bytes)} for a"
                f" fold; the largest node offers {binary_size(most)}."
            )
        self.task_resources = resources

    def send(self, work: Callable[[bytes], Any], data: bytes, name: str, node: str = "") -> Any:
        """Start a task when resources are free; returns the stream of its messages.

        Args:
            work: A function of a module, which yields bytes.
            name: Name of the task in Ray's own tools.
            node: Node that has the task's files, used if it is alive; empty: any.
        """
        needs = self.task_resources
        options: dict[str, Any] = {
            "num_cpus": needs.cpus,
            "num_gpus": needs.gpus,
            "num_returns": "streaming",
            "max_calls": 1,  # a fresh process for each
            "max_retries": 0,  # who tries again is who knows what of it was saved
            "retry_exceptions": False,
            "name": name,
            "scheduling_strategy": self._on(node, is_bound=False) if node else "SPREAD",
        }
        if needs.memory_bytes:
            options["memory"] = needs.memory_bytes
        return self._ray.remote(**options)(work).remote(data)

    def write(self, work: Callable[[str, bytes], None], path: str, data: bytes, node: str) -> None:
        """Write a small file on a node."""
        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_retries": 0,
            "scheduling_strategy": self._on(node, is_bound=True),
        }
        self._writes.append(self._ray.remote(**options)(work).remote(path, data))

    def ready(self, streams: Sequence[Any], timeout_s: float) -> list[Any]:
        """Streams that have a message, or are over."""
        if not streams:
            return []
        return self._ray.wait(list(streams), num_returns=1, timeout=timeout_s)[0]

    def next_message(self, stream: Any) -> bytes | None:
        """The next message of a stream that is ready; None at its end.

        Raises:
            TaskFailed: The task did not run to its end.
        """
        errors: Any = self._ray.exceptions
        try:
            return self._ray.get(next(stream), timeout=_GET_WITHIN_S)
        except StopIteration:
            return None
        except errors.RayError as exc:
            raise task_failure(exc) from exc

    def cancel(self, stream: Any) -> None:
        """End a task at once, with all that it started; its stream ends when it is gone."""
        with suppress(Exception):  # it is over
            self._ray.cancel(stream, force=True)

    def end(self, streams: Sequence[Any]) -> None:
        """End tasks at once, with all that they started; returns when they are gone."""
        for stream in streams:
            self.cancel(stream)
        self.still_running(streams, _ENDS_WITHIN_S)

    def still_running(self, streams: Sequence[Any], timeout_s: float = 0.0) -> list[Any]:
        """Drain streams whose messages are no longer needed; return those that have not ended yet.

        Ray prints an error that was not read when its stream is dropped.

        Args:
            streams: Streams of tasks that are over, or soon will be.
            timeout_s: Maximum wait for each, seconds.
        """
        for ref in self.ready(self._writes, 0.0):
            self._writes.remove(ref)
            with suppress(Exception):  # the task is ended by Ray then
                self._ray.get(ref, timeout=0)
        return [each for each in streams if not self._is_read_out(each, timeout_s)]

    def _is_read_out(self, stream: Any, timeout_s: float) -> bool:
        failures = 0  # the task's own, and once more at its end
        while failures < _MOST_FAILURES:
            if not self.ready([stream], timeout_s):
                return False
            try:
                if self.next_message(stream) is None:
                    return True
            except TaskFailed:
                failures += 1
        return True

    def _nodes(self) -> list[dict[str, float]]:
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _on(self, node: str, *, is_bound: bool) -> Any:
        strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
        return strategies.NodeAffinitySchedulingStrategy(node, soft=not is_bound)


def check_installed() -> None:
    """Check that Ray is installed. Raises: FoldsRefused: It is not."""
    _loaded()


@contextmanager
def open_cluster() -> Generator[RayCluster]:
    """Connect to the script's cluster, or that of `RAY_ADDRESS`; else start one for the block.

    Raises:
        FoldsRefused: Ray is not installed or not reachable.
    """
    ray = _loaded()
    if ray.is_initialized():
        if importlib.import_module("ray.util.client").ray.is_connected():
            raise FoldsRefused(_CLIENT)
        yield RayCluster(ray)
        return
    address = os.environ.get(_ADDRESS, "")
    if address.startswith("ray://"):
        raise FoldsRefused(_CLIENT)
    _begin(ray, address)
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def task_failure(exc: Exception) -> TaskFailed:
    """Failure of an attempt for an exception of Ray.

    Args:
        exc: Exception of `ray.exceptions`.
    """
    kinds = {kind.__name__ for kind in type(exc).__mro__}
    text = str(exc).strip()
    first = text.splitlines()[0] if text else type(exc).__name__
    if "OutOfMemoryError" in kinds:
        return TaskFailed(
            "out_of_memory", f"Ray ended it before its node ran out of memory: {first}"
        )
    if "TaskCancelledError" in kinds:
        return TaskFailed("killed", "it was canceled through Ray")
    if kinds & {"NodeDiedError", "ObjectLostError", "GetTimeoutError", "LocalRayletDiedError"}:
        return TaskFailed("killed", f"its node was lost: {first}")
    if "WorkerCrashedError" in kinds:
        return TaskFailed("killed", "the Ray worker that watched it was killed or crashed")
    if kinds & {"RuntimeEnvSetupError", "RaySystemError", "TaskUnschedulableError"}:
        return TaskFailed("error", f"Ray could not start it: {text}", is_set_up=True)
    return TaskFailed("error", f"the task that watched it failed: {text}", is_set_up=True)


def _loaded() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as exc:
        raise FoldsRefused(_NOT_INSTALLED) from exc


def _begin(ray: Any, address: str) -> None:
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    before = os.environ.get(_NO_STATISTICS)
    if address:
        how["address"] = address
    else:
        # A Ray of our own sends no statistics, and opens no port for browsers.
        os.environ[_NO_STATISTICS] = "0"
        how |= {"address": "local", "include_dashboard": False}
    try:
        ray.init(**how)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as exc:
        named = f"{_ADDRESS}={address!r}" if address else "a local Ray"
        raise FoldsRefused(f"run_folds: no fold was started: cannot reach {named}: {exc}") from exc
    finally:
        if not address and before is None:
            del os.environ[_NO_STATISTICS]
        elif before is not None:
            os.environ[_NO_STATISTICS] = before


def _requested_bytes(memory: str | float | None, nodes: Sequence[dict[str, float]]) -> int:
    if memory is None:
        return 0
    spec = Limit("ram", memory).spec
    if spec.fraction is not None:
        return int(spec.fraction * min((node.get("memory", 0.0) for node in nodes), default=0.0))
    return int(spec.value or 0)


def _fits(node: dict[str, float], resources: TaskResources) -> bool:
    requested = {"CPU": resources.cpus, "GPU": resources.gpus, "memory": resources.memory_bytes}
    return all(node.get(name, 0.0) >= each for name, each in requested.items())


def write_file(path: str, data: bytes) -> None:
    """Write a small file atomically; runs on a node."""
    make_folder(Path(path).parent)
    write_private(Path(path), data)
