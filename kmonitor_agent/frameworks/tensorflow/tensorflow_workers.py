# pyright: basic
"""The place of this process among several that train one model under a TensorFlow strategy.

All of them step together, in collective operations. What changes the step is done by all of them
between the same two steps, or by none; what all would write, the chief writes.
"""

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.tensorflow.workers import Board, why_no_board

_ALONE: Final = 1
_JOBS: Final = ("chief", "worker", "ps")
_ALIKE: Final = "CollectiveAllReduceStrategy"
"""Base of MultiWorkerMirroredStrategy, under which every worker runs the whole script."""


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes that train together.

    Attributes:
        count: How many; 1 for a training of one process.
        name: This one's, like "worker 1".
        is_chief: Whether it is the one that writes for all.
        members: Names of all, where all run the same script; else empty.
    """

    count: int = _ALONE
    name: str = ""
    is_chief: bool = True
    members: tuple[str, ...] = ()

    def board(self, name: str) -> Board:
        """Where they leave notes for each other.

        Args:
            name: The same for all workers, used once.

        Raises:
            NoBoard: There is none.
        """
        return Board(name, self.name)


@runtime_checkable
class MeetsWorkers(Protocol):
    """What reclaim steps may also know: the other workers, and that all can act as one."""

    def workers(self, model: KerasModel) -> Workers:
        """Those that train this model."""
        ...


def workers_of(model: KerasModel) -> Workers:
    """Those that the model's strategy knows."""
    strategy = getattr(model, "distribute_strategy", None)
    resolver = getattr(strategy, "cluster_resolver", None)
    if resolver is None:
        return Workers()
    cluster = resolver.cluster_spec().as_dict()
    count = sum(len(cluster.get(job, ())) for job in _JOBS)
    kind, index = str(resolver.task_type or ""), int(resolver.task_id or 0)
    first = "chief" if "chief" in cluster else "worker"
    are_alike = any(cls.__name__ == _ALIKE for cls in type(strategy).__mro__)
    members = (f"{job} {n}" for job in _JOBS[:2] for n in range(len(cluster.get(job, ()))))
    return Workers(
        max(_ALONE, count),
        f"{kind} {index}",
        kind == first and index == 0,
        tuple(members) if are_alike else (),
    )


def why_not_here(model: KerasModel, action: str) -> str:
    """Why this process must not do an action alone; empty when it may.

    Args:
        model: What is trained.
        action: "save", "export", "collect" or "reload".
    """
    workers = workers_of(model)
    if workers.count == _ALONE:
        return ""
    if action == "reload":
        agree = why_no_board() or "they agree at the ends of epochs, in fit with tf_keras"
        return (
            f"{workers.count} workers train this model together: a reload is done by all of them"
            f" at the same step or by none, and was not ({agree}); save and collect work"
        )
    if action == "export":
        return (
            f"{workers.count} workers train this model together, and Keras' own save sums their"
            " values up, which all of them have to do; kmonitor restore makes the file from the"
            " checkpoint, with this worker's own moving averages"
        )
    if action == "save" and not workers.is_chief:
        return f"{workers.name} leaves the checkpoint to the chief, who writes for all"
    return ""
