"""Whether steps take longer and longer: the detector of `leak` on step times."""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.hub.judge.detectors import Verdict, next_verdict
from kmonitor.hub.judge.growth import Floor

STEP_TIME_FLOOR: Final = Floor(0.0, 0.10)
"""A tenth of the step time; less is not felt, and clocks of processors vary by as much."""

_FIRST_OF_KIND: Final = 3


def next_slowdown(before: Verdict, step_s: NDArray[np.float64]) -> Verdict:
    """The verdict on step times after one more unit.

    Args:
        before: The verdict of the unit before; `Verdict()` at first.
        step_s: Median step time of each unit since the last start or reload, seconds, `[n]`; in a
            loop of models one a fit, made comparable by `relative_to_own_kind` if they differ.
    """
    return next_verdict(before, step_s, floor=STEP_TIME_FLOOR)


def relative_to_own_kind(
    step_s: NDArray[np.float64], kinds: Sequence[Hashable]
) -> NDArray[np.float64]:
    """Step times of models as parts of what models of the same kind took at first.

    In a search over models a larger one is slower without anything being wrong: each is compared
    with its own kind only.

    Args:
        step_s: One a fit, seconds, above 0, `[n]`.
        kinds: What makes models comparable, for example (parameters, batch size), `[n]`.

    Returns:
        Step time over the median of the first three of its kind, `[n]`; 1 is as fast as then.
    """
    firsts: dict[Hashable, list[float]] = {}
    for kind, value in zip(kinds, step_s, strict=True):
        of_kind = firsts.setdefault(kind, [])
        if len(of_kind) < _FIRST_OF_KIND:
            of_kind.append(float(value))
    return np.array(
        [value / float(np.median(firsts[kind])) for kind, value in zip(kinds, step_s, strict=True)]
    )
