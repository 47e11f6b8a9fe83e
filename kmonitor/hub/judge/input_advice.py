"""Advice on the wait for input, by the kind of the data and by the batches that are waited for.

A remedy for one kind does not exist for another: arrays are in memory, and Keras prefetches their
batches itself; only some kinds have workers. Where the kind is unknown, the advice names the kind
that it is for. The wait for the first batch of each epoch ends where the iterator, or its workers,
are started once for all epochs; no such way exists for arrays, for a `PyDataset` and for a
generator, whose iterator goes on anyway.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from kmonitor.base.trend import theil_sen_slope
from kmonitor.hub.judge.causes import Remedy
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import FitStarted
from kmonitor_agent.wire.messages.verdict_events import RECENT_UNITS

_OF_BATCHES: Final[dict[str, tuple[Remedy, ...]]] = {
    "": (Remedy.PREFETCH,),
    "dataset": (Remedy.PREFETCH_DATASET,),
    "pydataset": (Remedy.MORE_WORKERS,),
    "generator": (Remedy.NO_GENERATOR,),
    "loader": (Remedy.LOADER_WORKERS,),
}
"""Advice on the wait for each batch, by the kind of data in `FitStarted`."""

_OF_FIRST_BATCHES: Final[dict[str, tuple[Remedy, ...]]] = {
    "dataset": (Remedy.REPEAT,),
    "loader": (Remedy.KEEP_WORKERS,),
}
"""Advice on the wait for the first batch of each epoch."""


def advice_on_input(units: Sequence[Unit], growth: Growth | None = None) -> tuple[Remedy, ...]:
    """Advice on the wait for input; empty where none is known that helps.

    Args:
        units: Measured units, to which the growth's indices refer.
        growth: Growth of the wait; None: it takes much of the time.
    """
    fit = units[-1].fit
    kind = "" if fit is None else fit.data_kind
    if not _is_of_first_batches(units, growth):
        return _OF_BATCHES.get(kind, ())
    if fit is None or not _starts_each_epoch(fit):
        return ()
    return _OF_FIRST_BATCHES.get(kind, ())


def _starts_each_epoch(fit: FitStarted) -> bool:
    """True if something is started again in each of several epochs of the fit."""
    has_workers = fit.data_kind != "loader" or bool(fit.data_workers)
    return not fit.data_persists and fit.epochs - fit.initial_epoch > 1 and has_workers


def _is_of_first_batches(units: Sequence[Unit], growth: Growth | None) -> bool:
    """True if most of the wait, or of its growth, is for the first batches of epochs."""
    first_s = np.array([unit.first_input_s for unit in units])
    input_s = np.array([unit.times.get("input", 0.0) for unit in units])
    return _amount(first_s, growth) > _amount(input_s, growth) / 2


def _amount(seconds: Floats, growth: Growth | None) -> float:
    if growth is None or (growth.slope is None and growth.first <= 1):
        return float(seconds[-RECENT_UNITS:].sum())
    if growth.slope is None:
        # As for a jump: the first unit is left out.
        return float(np.median(seconds[growth.first :]) - np.median(seconds[1 : growth.first]))
    window = seconds[growth.first : growth.last + 1]
    return theil_sen_slope(np.arange(len(window), dtype=np.float64), window) or 0.0
