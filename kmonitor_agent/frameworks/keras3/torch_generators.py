# pyright: basic
"""Random generators that a loader of PyTorch was given by the script."""

import sys
from collections.abc import Iterator
from typing import Any


def generators_of_loader(loader: Any) -> Iterator[Any]:
    """Those of a `torch.utils.data.DataLoader` and its samplers; none of anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(loader, torch.utils.data.DataLoader):
        return
    batches = getattr(loader, "batch_sampler", None)
    for holder in (loader, getattr(loader, "sampler", None), getattr(batches, "sampler", None)):
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator):
            yield generator
