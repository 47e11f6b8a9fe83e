# pyright: basic
"""Kind of data that a fit takes its batches from, as far as advice depends on it.

Read off Keras' own adapter of the data; nothing of the script's runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.data_caches import stages_of
from kmonitor_agent.frameworks.script_values import (
    class_name,
    instance_dict,
    is_known_class,
    safe_count,
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
    """

    kind: str = ""
    workers: int | None = None
    persists: bool = False
    prefetches: bool = False


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
    prefetches = kind == "dataset" and any(
        class_name(type(stage)) == "_PrefetchDataset" for stage in stages_of(own.get("_dataset"))
    )
    return KindOfData(kind, persists=persists, prefetches=prefetches)
