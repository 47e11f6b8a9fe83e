# pyright: basic
"""The place of this process among several that train one model under a TensorFlow strategy.

Workers meet in collective operations, which are told apart by numbers that each worker counts as
it traces. A trace that one of them makes alone leaves all of them waiting for ever.
"""

from dataclasses import dataclass
from typing import Final

from kmonitor_agent.frameworks.base import KerasModel

_ALONE: Final = 1
_JOBS: Final = ("chief", "worker", "ps")


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes that train together.

    Attributes:
        count: How many; 1 for a training of one process.
        name: This one's, like "worker 1".
        is_chief: Whether it is the one that writes for all.
    """

    count: int = _ALONE
    name: str = ""
    is_chief: bool = True


def workers_of(model: KerasModel) -> Workers:
    """Those that the model's strategy knows."""
    resolver = getattr(getattr(model, "distribute_strategy", None), "cluster_resolver", None)
    if resolver is None:
        return Workers()
    cluster = resolver.cluster_spec().as_dict()
    count = sum(len(cluster.get(job, ())) for job in _JOBS)
    kind, index = str(resolver.task_type or ""), int(resolver.task_id or 0)
    first = "chief" if "chief" in cluster else "worker"
    return Workers(max(_ALONE, count), f"{kind} {index}", kind == first and index == 0)


def why_not_here(model: KerasModel, action: str) -> str:
    """Why this process must not do an action alone; empty when it may.

    Args:
        model: What is trained.
        action: "save", "collect" or "reload".
    """
    workers = workers_of(model)
    if workers.count == _ALONE:
        return ""
    if action == "reload":
        return (
            f"{workers.count} workers train this model together: a reload by one of them leaves"
            " all waiting for ever in the next step, so none does it; save and collect work"
        )
    if action == "save" and not workers.is_chief:
        return f"{workers.name} leaves the checkpoint to the chief, who writes for all"
    return ""
