"""Charts of the window: their selection, order and style, and the choices in the menus."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Final

import msgspec

from kmonitor.ui.charts.chart_kinds import (
    PARTS_KEY,
    STANDARD_METRICS,
    ChartGroup,
    ChartKind,
    available_chart_kinds,
    chart_kind,
    chart_title,
)
from kmonitor.ui.text.language import tr

MOST_CHARTS: Final = 24
"""Charts shown at a time."""

SMOOTHING_WEIGHTS: Final = (0.0, 0.6, 0.9, 0.99)
"""Smoothing on offer: weight of the earlier values in each point."""


class ChartSetup(msgspec.Struct, frozen=True, omit_defaults=True):
    """One chart, as saved.

    Attributes:
        key: Key of a `ChartKind`.
        smoothing: Weight of the earlier values, from 0 (none) to below 1.
        is_log: True if the vertical axis is logarithmic.
        is_within: True if values within epochs are drawn too.
    """

    key: Annotated[str, msgspec.Meta(max_length=200)]
    smoothing: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.0
    is_log: bool = False
    is_within: bool = False


DEFAULT_CHARTS: Final = tuple(ChartSetup(metric) for metric in STANDARD_METRICS)
"""The four charts of a new window."""


class Arrangement:
    """The charts that are shown, in their order; main thread only."""

    def __init__(self, saved: Iterable[ChartSetup] | None = None) -> None:
        """Args: `saved`: Charts as last saved, without undrawable ones; None: the default."""
        self._charts: list[ChartSetup] = []
        for setup in DEFAULT_CHARTS if saved is None else saved:
            self._append(setup)

    @property
    def charts(self) -> tuple[ChartSetup, ...]:
        """From left to right and top to bottom."""
        return tuple(self._charts)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(setup.key for setup in self._charts)

    @property
    def is_usual(self) -> bool:
        """True if the arrangement is that of a new window."""
        return self.charts == DEFAULT_CHARTS

    def saved(self) -> tuple[ChartSetup, ...] | None:
        """Setups to save; None for the default arrangement."""
        return None if self.is_usual else self.charts

    def setup(self, key: str) -> ChartSetup:
        """Setup of a chart; the default one if the chart is not shown."""
        return next((each for each in self._charts if each.key == key), ChartSetup(key))

    def add(self, key: str) -> bool:
        """Add a chart; False if it is already shown or there is no more room.

        The chart is added at the end; the chart of epoch parts goes beside step time, which it
        explains.
        """
        before = len(self._charts)
        self._append(ChartSetup(key))
        is_added = len(self._charts) > before
        if is_added and key == PARTS_KEY and "step_time" in self.keys:
            self.move(key, self.keys.index("step_time") + 1)
        return is_added

    def remove(self, key: str) -> bool:
        """Remove a chart; False for the last one."""
        if len(self._charts) == 1 or key not in self.keys:
            return False
        self._charts = [each for each in self._charts if each.key != key]
        return True

    def move(self, key: str, to: int) -> bool:
        """Move a chart to another position; False where nothing changes.

        Args:
            to: New position, from 0; beyond the ends the nearest.
        """
        if key not in self.keys:
            return False
        at = self.keys.index(key)
        to = min(max(to, 0), len(self._charts) - 1)
        self._charts.insert(to, self._charts.pop(at))
        return at != to

    def step(self, key: str, by: int) -> bool:
        """Move a chart by a number of positions; negative: to the left."""
        return key in self.keys and self.move(key, self.keys.index(key) + by)

    def change(self, setup: ChartSetup) -> None:
        """Replace the setup of the chart with the same key."""
        self._charts = [setup if each.key == setup.key else each for each in self._charts]

    def reset(self) -> None:
        """Return to the default four charts."""
        self._charts = list(DEFAULT_CHARTS)

    def _append(self, setup: ChartSetup) -> None:
        is_new = setup.key not in self.keys and len(self._charts) < MOST_CHARTS
        if is_new and chart_kind(setup.key) is not None:
            self._charts.append(setup)


@dataclass(frozen=True, slots=True)
class ChartChoice:
    key: str
    title: str
    is_shown: bool


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Charts that belong together."""

    group: ChartGroup
    choices: tuple[ChartChoice, ...]


@dataclass(frozen=True, slots=True)
class SmoothingChoice:
    weight: float
    title: str
    is_chosen: bool


def chart_choices(have: Collection[str], arrangement: Arrangement) -> list[ChoiceGroup]:
    """Charts that can be drawn, and shown charts without any data.

    Args:
        have: Columns of the drawn runs.
    """
    kinds = available_chart_kinds(have)
    known = {kind.key for kind in kinds}
    extra = [chart_kind(key) for key in arrangement.keys if key not in known]
    kinds = available_chart_kinds(
        [*have, *(kind.columns[0] for kind in extra if kind is not None)]
    )
    return [
        ChoiceGroup(
            chart_group,
            tuple(
                ChartChoice(kind.key, chart_title(kind.key), kind.key in arrangement.keys)
                for kind in some
            ),
        )
        for chart_group, some in groupby(kinds, key=_group_of)
    ]


def smoothing_choices(setup: ChartSetup) -> list[SmoothingChoice]:
    """Smoothing weights on offer, and the chart's own weight if it is another one."""
    weights = sorted({*SMOOTHING_WEIGHTS, setup.smoothing})
    return [
        SmoothingChoice(
            weight, tr("None") if weight == 0.0 else f"{weight:g}", weight == setup.smoothing
        )
        for weight in weights
    ]


def _group_of(kind: ChartKind) -> ChartGroup:
    return kind.group
