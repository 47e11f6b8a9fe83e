"""Memory of simulated runs, one value an epoch or fit, in MiB: harmless and leaking kinds.

`DEV` kinds were used while constants were chosen; `HELD_OUT` kinds were written at the same
time and only ever measured.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kmonitor.hub.judge.causes import Cause
from kmonitor.hub.judge.counters import CounterKind

Floats = NDArray[np.float64]
Rng = np.random.Generator
MIB = 2.0**20


@dataclass
class SimulatedRun:
    """`values` in MiB, `starts` where a new process began, counters one a unit."""

    values: Floats
    starts: list[int] = field(default_factory=lambda: [0])
    counters: dict[CounterKind, Floats] = field(default_factory=dict)
    cause: Cause | None = None


def _noise(rng: Rng, n: int, largest: float = 6.0) -> Floats:
    """Noise of samples: mostly small, some far off."""
    sigma = rng.uniform(0.2, largest)
    wild = (rng.random(n) < 0.03) * rng.exponential(12.0 * sigma, n)
    return rng.normal(0.0, sigma, n) + wild


def _base(rng: Rng, n: int, *, tau: float = 2.0, warm_up: float = 200.0) -> Floats:
    """Level, warm-up and noise that every run has."""
    t = np.arange(n)
    rise = rng.uniform(5.0, warm_up) * (1 - np.exp(-(t + 0.3) / rng.uniform(0.2, tau)))
    return rng.uniform(400.0, 5000.0) + rise + _noise(rng, n)


def _flat(rng: Rng, n: int) -> Floats:
    return _base(rng, n)


def _long_warm_up(rng: Rng, n: int) -> Floats:
    return _base(rng, n, tau=9.0, warm_up=600.0)


def _allocator_steps(rng: Rng, n: int) -> Floats:
    """Regions taken from the system, fewer and fewer of them."""
    at = np.cumsum(rng.exponential(6.0, 6) * np.geomspace(0.5, 4.0, 6))
    heights = rng.uniform(16.0, 160.0, 6)
    return _base(rng, n) + (heights[:, None] * (np.arange(n) >= at[:, None])).sum(axis=0)


def _fragmentation(rng: Rng, n: int) -> Floats:
    t = np.arange(n)
    smooth = rng.uniform(30.0, 300.0) * (1 - np.exp(-t / rng.uniform(3.0, 12.0)))
    grain = rng.uniform(1.0, 16.0)
    return _base(rng, n) + np.round(smooth / grain) * grain


def _gc_sawtooth(rng: Rng, n: int) -> Floats:
    return _sawtooth(rng, n, rng.uniform(2.5, 8.0))


def _slow_sawtooth(rng: Rng, n: int) -> Floats:
    """One tooth takes as long as an alarm takes to rise: until it falls, it is growth."""
    return _sawtooth(rng, n, rng.uniform(15.0, 35.0))


def _slow_cache(rng: Rng, n: int) -> Floats:
    full_at = rng.uniform(15.0, 35.0)
    return _base(rng, n) + rng.uniform(100.0, 1500.0) * np.minimum(np.arange(n) / full_at, 1.0)


def _sawtooth(rng: Rng, n: int, period: float) -> Floats:
    phase = (np.arange(n) / period + rng.random()) % 1.0
    return _base(rng, n) + rng.uniform(10.0, 300.0) * phase


def _validation(rng: Rng, n: int) -> Floats:
    every = int(rng.integers(2, 12))
    return _base(rng, n) + rng.uniform(20.0, 500.0) * (np.arange(n) % every == every - 1)


def _checkpoints(rng: Rng, n: int) -> Floats:
    """Each brings a peak; the first ones leave something of it behind."""
    every = int(rng.integers(4, 21))
    done = np.arange(n) // every
    peak = (np.arange(n) % every == 0) * (done > 0) * rng.uniform(50.0, 800.0)
    return _base(rng, n) + peak + rng.uniform(0.0, 60.0) * (1 - 0.4**done)


def _logs(rng: Rng, n: int) -> Floats:
    return _base(rng, n) + rng.uniform(0.005, 0.06) * np.arange(n)


def _cache_fills(rng: Rng, n: int) -> Floats:
    """A data cache that is full after a few epochs."""
    full_at = rng.uniform(0.5, 7.0)
    return _base(rng, n) + rng.uniform(50.0, 1500.0) * np.minimum(np.arange(n) / full_at, 1.0)


def _wandering(rng: Rng, n: int) -> Floats:
    """Values that follow their neighbours: mapped files, page cache of a data set."""
    follow, drift = rng.uniform(0.5, 0.93), np.zeros(n)
    for i in range(1, n):
        drift[i] = follow * drift[i - 1] + rng.normal(0.0, 5.0)
    return _base(rng, n) + drift


def _workers_come_and_go(rng: Rng, n: int) -> Floats:
    workers = rng.integers(2, 9)
    is_up = (np.arange(n) // max(1, int(rng.integers(1, 15)))) % 2
    return _base(rng, n) + workers * rng.uniform(30.0, 120.0) * is_up


def _two_plateaus(rng: Rng, n: int) -> Floats:
    """Frozen layers are trained from some epoch on: slots come once."""
    return _base(rng, n) + rng.uniform(50.0, 900.0) * (np.arange(n) >= rng.integers(5, 80))


def _models_of_many_sizes(rng: Rng, n: int) -> Floats:
    """A search over models, one value a fit."""
    return _base(rng, n) + rng.choice(rng.uniform(10.0, 800.0, 6), n)


def _given_back(rng: Rng, n: int) -> Floats:
    """The kernel takes pages away under pressure; they come back."""
    dip = np.exp(-(((np.arange(n) - rng.uniform(10, 90)) / rng.uniform(2, 12)) ** 2))
    return _base(rng, n) - rng.uniform(30.0, 300.0) * dip


def _heavy_tails(rng: Rng, n: int) -> Floats:
    return _base(rng, n) + rng.lognormal(1.0, rng.uniform(0.5, 1.6), n)


def _several_rhythms(rng: Rng, n: int) -> Floats:
    return _validation(rng, n) + _gc_sawtooth(rng, n) + _checkpoints(rng, n)


def _doubling_list(rng: Rng, n: int) -> Floats:
    """A list that over-allocates in larger and rarer steps, below the floor for long."""
    size = 2.0 ** np.floor(np.log2(1.0 + np.arange(n)))
    return _base(rng, n) + rng.uniform(0.05, 1.0) * size


def _hyperbolic(rng: Rng, n: int) -> Floats:
    """A pool that settles slower than an exponential."""
    t = np.arange(n)
    return _base(rng, n) + rng.uniform(20.0, 200.0) * t / (t + rng.uniform(1.0, 6.0))


def restarted(rng: Rng, n: int, shape: Callable[[Rng, int], Floats]) -> SimulatedRun:
    """The same in several processes, resumed, each with its own warm-up."""
    starts = [0, *sorted({int(one) for one in rng.integers(3, n - 3, rng.integers(1, 5))})]
    parts = [shape(rng, n)[: end - start] for start, end in pairwise([*starts, n])]
    return SimulatedRun(np.concatenate(parts), starts)


def _plain(shape: Callable[[Rng, int], Floats]) -> Callable[[Rng, int], SimulatedRun]:
    return lambda rng, n: SimulatedRun(shape(rng, n))


Kind = Callable[[Rng, int], SimulatedRun]

HARMLESS_DEV: dict[str, Kind] = {
    "flat": _plain(_flat),
    "long warm-up": _plain(_long_warm_up),
    "allocator steps": _plain(_allocator_steps),
    "fragmentation plateau": _plain(_fragmentation),
    "gc saw-tooth": _plain(_gc_sawtooth),
    "validation every n": _plain(_validation),
    "checkpoints": _plain(_checkpoints),
    "logs": _plain(_logs),
    "cache that fills": _plain(_cache_fills),
    "wandering": _plain(_wandering),
    "workers come and go": _plain(_workers_come_and_go),
    "resumed": lambda rng, n: restarted(rng, n, _long_warm_up),
}
HARMLESS_HELD_OUT: dict[str, Kind] = {
    "two plateaus": _plain(_two_plateaus),
    "models of many sizes": _plain(_models_of_many_sizes),
    "given back": _plain(_given_back),
    "heavy tails": _plain(_heavy_tails),
    "several rhythms": _plain(_several_rhythms),
    "doubling list": _plain(_doubling_list),
    "hyperbolic pool": _plain(_hyperbolic),
    "resumed fragmentation": lambda rng, n: restarted(rng, n, _fragmentation),
}

ENDS_BY_ITSELF: dict[str, Kind] = {
    "slow saw-tooth": _plain(_slow_sawtooth),
    "slow cache": _plain(_slow_cache),
}
"""Growth for 15 to 35 units: no detector can know that it ends. Reported, without a bound."""


def rising(rng: Rng, n: int, per_unit: float) -> Floats:
    """Memory of a leak: not the same in each unit, sometimes nothing."""
    amounts = per_unit * rng.gamma(4.0, 0.25, n)
    return np.cumsum(amounts)


def _counts(rng: Rng, n: int, per_unit: float) -> Floats:
    """A counter, exact, growing by about this many a unit."""
    return 1000.0 + np.cumsum(rng.poisson(per_unit, n)).astype(np.float64)


_IN_BYTES = (
    *(CounterKind.NATIVE_BYTES, CounterKind.FREE_BYTES),
    *(CounterKind.CHILDREN_BYTES, CounterKind.ALLOCATOR_BYTES),
)


def _counters(rng: Rng, n: int, per_unit: dict[CounterKind, float]) -> dict[CounterKind, Floats]:
    """All that is read; what does not grow stays, malloc's bytes scatter."""
    found = {
        kind: _counts(rng, n, per_unit.get(kind, 0.0))
        for kind in (CounterKind.TRACES, CounterKind.RETAINED)
    }
    found[CounterKind.BLOCKS] = _counts(rng, n, per_unit.get(CounterKind.BLOCKS, 0.0))
    found[CounterKind.BLOCKS] += np.round(rng.exponential(400.0, n) * (rng.random(n) < 0.1))
    for kind in _IN_BYTES:
        grown = rising(rng, n, per_unit.get(kind, 0.0)) if kind in per_unit else np.zeros(n)
        found[kind] = (300.0 + grown + rng.normal(0.0, 1.0, n)) * MIB
    return found


def _leak(
    shape: Callable[[Rng, int], Floats],
    cause: Cause,
    per_unit: dict[CounterKind, float],
    native_part: float = 0.8,
    **parts: float,
) -> Callable[[Rng, int, float], SimulatedRun]:
    def make(rng: Rng, n: int, mib: float) -> SimulatedRun:
        scaled = {**per_unit, **{CounterKind[name]: part * mib for name, part in parts.items()}}
        if native_part:
            scaled[CounterKind.NATIVE_BYTES] = native_part * mib
        values = shape(rng, n) + rising(rng, n, mib)
        return SimulatedRun(values, counters=_counters(rng, n, scaled), cause=cause)

    return make


LeakKind = Callable[[Rng, int, float], SimulatedRun]
_K = CounterKind

_BLOCKS_OF_A_MIB = 2.0**20 / 90.0

LEAKS_DEV: dict[str, LeakKind] = {
    "function retraced": _leak(_flat, Cause.RETRACING, {_K.TRACES: 2.9, _K.BLOCKS: 13_000.0}),
    "models rebuilt": _leak(
        _flat, Cause.REBUILT, {_K.TRACES: 2.7, _K.BLOCKS: 84_000.0}, ALLOCATOR_BYTES=0.6
    ),
    "traces retained": _leak(
        _long_warm_up,
        Cause.RETAINED_TRACES,
        {_K.TRACES: 2.7, _K.RETAINED: 2.7, _K.BLOCKS: 84_000.0},
        ALLOCATOR_BYTES=0.5,
    ),
    "objects kept": _leak(
        _validation, Cause.PYTHON, {}, native_part=0.0, BLOCKS=0.9 * _BLOCKS_OF_A_MIB
    ),
    "tensors kept": _leak(_flat, Cause.TENSORS, {_K.BLOCKS: 8.0}, ALLOCATOR_BYTES=0.9),
    "native malloc": _leak(_checkpoints, Cause.MALLOC, {_K.BLOCKS: 3.0}),
    "workers": _leak(_flat, Cause.WORKERS, {}, native_part=0.0, CHILDREN_BYTES=1.0),
}


def _bursts(rng: Rng, n: int, mib: float) -> SimulatedRun:
    """Taken from the system in regions of 4 to 24 MiB."""
    grain = rng.uniform(4.0, 24.0)
    grown = np.ceil(rising(rng, n, mib) / grain) * grain
    counters = _counters(rng, n, {_K.NATIVE_BYTES: mib})
    return SimulatedRun(_flat(rng, n) + grown, counters=counters, cause=Cause.MALLOC)


def _every_third(rng: Rng, n: int, mib: float) -> SimulatedRun:
    """Only in epochs with validation; `mib` is the mean of all."""
    every = int(rng.integers(2, 6))
    grown = mib * every * (np.arange(n) // every)
    counters = _counters(rng, n, {_K.BLOCKS: 12.0, _K.ALLOCATOR_BYTES: mib})
    return SimulatedRun(_flat(rng, n) + grown, counters=counters, cause=Cause.TENSORS)


LEAKS_HELD_OUT: dict[str, LeakKind] = {
    "in regions": _bursts,
    "in validation only": _every_third,
    "under a saw-tooth": _leak(
        _gc_sawtooth, Cause.PYTHON, {}, native_part=0.3, BLOCKS=0.7 * _BLOCKS_OF_A_MIB
    ),
    "after a cache filled": _leak(_cache_fills, Cause.MALLOC, {}),
    "wandering": _leak(_wandering, Cause.RETRACING, {_K.TRACES: 1.0, _K.BLOCKS: 6_000.0}),
}


StoppingKind = Callable[[Rng, int, int], SimulatedRun]


def growth_that_stops(rng: Rng, n: int, stop: int) -> SimulatedRun:
    """5 to 25 MiB a unit up to `stop`, nothing after."""
    return SimulatedRun(_stopped(rng, n, stop) + _flat(rng, n))


def _stopped(rng: Rng, n: int, stop: int) -> Floats:
    grown = rising(rng, n, rng.uniform(5.0, 25.0))
    grown[stop:] = grown[stop]
    return grown


def _under_sawtooth_stops(rng: Rng, n: int, stop: int) -> SimulatedRun:
    return SimulatedRun(_stopped(rng, n, stop) + _gc_sawtooth(rng, n))


def _given_back_in_part(rng: Rng, n: int, stop: int, *, goes_on: bool) -> SimulatedRun:
    """Every few units a part of what came is given back."""
    every, part = int(rng.integers(6, 13)), rng.uniform(0.3, 0.7)
    amounts = rng.uniform(5.0, 25.0) * rng.gamma(4.0, 0.25, n)
    values, level, tooth = np.zeros(n), 0.0, 0.0
    for i in range(n):
        if i < stop or goes_on:
            level, tooth = level + amounts[i], tooth + amounts[i]
        if i % every == every - 1:
            level, tooth = level - tooth * (part if i < stop else 1.0), 0.0
        values[i] = level
    return SimulatedRun(_flat(rng, n) + values)


def _teeth_end(rng: Rng, n: int, stop: int) -> SimulatedRun:
    return _given_back_in_part(rng, n, stop, goes_on=False)


def _teeth_go_on(rng: Rng, n: int, stop: int) -> SimulatedRun:
    """From `stop` on all that comes is given back: only the lows rise no longer."""
    return _given_back_in_part(rng, n, stop, goes_on=True)


STOPS: dict[str, StoppingKind] = {
    "stops": growth_that_stops,
    "stops under a saw-tooth": _under_sawtooth_stops,
    "teeth end": _teeth_end,
    "teeth go on, lows rise no longer": _teeth_go_on,
}
"""Leaks that stop: (rng, units, the unit from which on nothing is added)."""
