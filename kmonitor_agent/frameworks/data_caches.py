# pyright: basic
"""Caches in memory of a `tf.data` pipeline: after how many steps they are full, and how large.

Read off the pipeline's own objects; nothing is taken of the data.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    class_name,
    instance_dict,
    is_instance,
    is_known_class,
    items_of,
    safe_getattr,
)

_LONGEST_PIPELINE: Final = 64

_ONE_TO_ONE: Final = frozenset(
    f"_{name}Dataset"
    for name in (
        *("Map", "ParallelMap", "Prefetch", "Repeat", "Shuffle", "Take", "Skip", "Shard"),
        *("Options", "AssertCardinality"),
    )
)
"""Stages that return as many elements as they take, or none at all."""

_BATCHES: Final = frozenset({"_BatchDataset", "_ParallelBatchDataset", "_PaddedBatchDataset"})


@dataclass(frozen=True, slots=True)
class DataCache:
    """A cache of the data in memory that fills as steps take from it.

    Attributes:
        steps: Steps after which it is full.
        n_bytes: Size of the full cache, bytes; None if shapes vary.
    """

    steps: int
    n_bytes: int | None = None


def stages_of(dataset: Any) -> Iterator[Any]:
    """A data set, then the data sets that it takes elements from, one after the other."""
    for _ in range(_LONGEST_PIPELINE):
        if dataset is None:
            return
        yield dataset
        dataset = instance_dict(dataset).get("_input_dataset")


def data_cache(dataset: Any) -> DataCache | None:
    """First in-memory cache of a pipeline; None without one, or if its end is unknown.

    Args:
        dataset: Data set from which `fit` takes one element per step.
    """
    elements_a_step = 1
    for stage in stages_of(dataset):
        name = class_name(type(stage))
        if name == "CacheDataset" and is_known_class(type(stage)):
            return _cache(stage, elements_a_step)
        if name in _BATCHES:
            elements_a_step *= int(instance_dict(stage)["_batch_size"].numpy())
        elif name not in _ONE_TO_ONE:
            return None
    return None


def _cache(dataset: Any, elements_a_step: int) -> DataCache | None:
    filename: Any = instance_dict(dataset).get("_filename")
    elements = int(dataset.cardinality().numpy())
    if filename is None or filename.numpy() != b"" or elements <= 0:
        return None  # on the disk, without an end, or nobody knows
    size = _element_bytes(safe_getattr(dataset, "element_spec"))
    steps = math.ceil(elements / elements_a_step)
    return DataCache(steps, None if size is None else elements * size)


def _element_bytes(spec: Any) -> int | None:
    """Size of an element, bytes; None if a dimension is open."""
    if is_instance(spec, dict):
        spec = list(dict[Any, Any].values(spec))
    if is_instance(spec, list, tuple):
        sizes = [_element_bytes(each) for each in items_of(spec)]
        return None if any(size is None for size in sizes) else sum(filter(None, sizes))
    if not is_known_class(type(spec)):
        return None
    count = safe_getattr(safe_getattr(spec, "shape"), "num_elements")
    n = count() if count is not None else None
    item = safe_getattr(safe_getattr(spec, "dtype"), "size")
    return None if n is None or not item else int(n) * int(item)
