# pyright: basic
"""Kind of data that a fit takes its batches from, as far as advice depends on it.

Read off Keras' own adapter of the data; nothing of the script's runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from kmonitor_agent.frameworks.data_caches import stages_of
from kmonitor_agent.frameworks.script_values import (
    class_name,
    instance_dict,
    is_known_class,
    safe_count,
    safe_getattr,
)

_KINDS: Final = {
    "ArrayDataAdapter": "arrays",
    "TFDatasetAdapter": "dataset",
    "PyDatasetAdapter": "pydataset",
    "GeneratorDataAdapter": "generator",
    "TorchDataLoaderAdapter": "loader",
    "GrainDatasetAdapter": "grain",
    "TensorLikeDataAdapter": "arrays",
    "GenericArrayLikeDataAdapter": "arrays",
    "CompositeTensorDataAdapter": "arrays",
    "ListsOfScalarsDataAdapter": "arrays",
    "DatasetAdapter": "dataset",
    "DatasetCreatorAdapter": "dataset",
    "KerasSequenceAdapter": "pydataset",
}
"""Kinds by the class of the adapter; those from `TensorLikeDataAdapter` on are of tf_keras."""


@dataclass(frozen=True, slots=True)
class KindOfData:
    """Data of a fit.

    Attributes:
        kind: "arrays", "dataset" (tf.data), "pydataset" (or a `Sequence`), "generator", "loader"
            (PyTorch) or "grain"; empty if unknown.
        workers: Threads or processes that load batches; None if unknown, or with another kind.
        persists: True if nothing is started again for each epoch: epochs share one iterator, or
            its workers stay alive.
        prefetches: True if a stage of a tf.data pipeline prefetches.
        maps_in_parallel: True if a tf.data pipeline maps, and in all such stages in parallel.
        python: Python code of a tf.data pipeline, which runs one call at a time: "map"
            (`py_function`, `numpy_function`) or "generator" (`from_generator`); empty if there is
            none.
    """

    kind: str = ""
    workers: int | None = None
    persists: bool = False
    prefetches: bool = False
    maps_in_parallel: bool = False
    python: str = ""


UNKNOWN_DATA: Final = KindOfData()


def fit_data(adapter: Any, fit_locals: Mapping[str, Any]) -> KindOfData:
    """Data that an adapter reads.

    Args:
        adapter: Keras' adapter of the data.
        fit_locals: Local variables of `fit`.
    """
    if adapter is None or not is_known_class(type(adapter)):
        return UNKNOWN_DATA
    kind = _KINDS.get(class_name(type(adapter)), "")
    # With `steps_per_epoch` Keras goes on with the iterator of the epoch before.
    persists = fit_locals.get("steps_per_epoch") is not None
    own = instance_dict(adapter)
    if kind == "pydataset":
        # tf_keras has them as an argument of `fit`.
        workers = instance_dict(own.get("py_dataset")).get("_workers", fit_locals.get("workers"))
        return KindOfData(kind, safe_count(workers), persists)
    if kind == "loader":
        loader = instance_dict(own.get("_dataloader"))
        persists = persists or loader.get("persistent_workers") is True
        return KindOfData(kind, safe_count(loader.get("num_workers")), persists)
    if kind != "dataset":
        return KindOfData(kind, persists=persists)
    stages = list(stages_of(own.get("_dataset")))
    names = {class_name(type(stage)) for stage in stages}
    return KindOfData(
        kind,
        persists=persists,
        prefetches="_PrefetchDataset" in names,
        maps_in_parallel="_ParallelMapDataset" in names and "_MapDataset" not in names,
        python=_python_code(stages),
    )


_MOST_OPERATIONS: Final = 10_000
"""Maximum number of operations of a pipeline's functions that are read."""


def _python_code(stages: Iterable[Any]) -> str:
    kinds = set(islice(chain.from_iterable(map(_operations, stages)), _MOST_OPERATIONS))
    if "GeneratorDataset" in kinds:
        return "generator"
    return "" if kinds.isdisjoint(_CALLS_PYTHON) else "map"


_CALLS_PYTHON: Final = ("EagerPyFunc", "PyFunc", "PyFuncStateless")


def _operations(stage: Any) -> Iterator[str]:
    """Types of the operations in the function of a stage, and in those that it calls."""
    wrapper = instance_dict(stage).get("_map_func")
    graph = safe_getattr(instance_dict(wrapper).get("_function"), "graph")
    if not is_known_class(type(stage)) or not is_known_class(type(graph)) or graph is None:
        return
    yield from (operation.type for operation in graph.get_operations())
    for function in list(safe_getattr(graph, "_functions", {}).values()):
        yield from (node.op for node in safe_getattr(function, "definition").node_def)
