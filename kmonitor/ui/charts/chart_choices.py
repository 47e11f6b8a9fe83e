"""What the menus of the charts offer: which can be added, and how one can be smoothed."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby

from kmonitor.ui.charts.arrangement import WEIGHTS, Arrangement, ChartSetup
from kmonitor.ui.charts.chart_kinds import (
    ChartGroup,
    ChartKind,
    chart_kind,
    chart_title,
    kinds_of,
)
from kmonitor.ui.text.language import tr


@dataclass(frozen=True, slots=True)
class ChartChoice:
    """One chart that can be added, or taken away again: its key, its title."""

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
    """One weight of smoothing, in words."""

    weight: float
    title: str
    is_chosen: bool


def chart_choices(have: Collection[str], arrangement: Arrangement) -> list[ChoiceGroup]:
    """The charts that there can be, and those that stand on the board though nothing is known.

    Args:
        have: Columns of the runs drawn.
        arrangement: What stands on the board.
    """
    kinds = kinds_of(have)
    known = {kind.key for kind in kinds}
    extra = [chart_kind(key) for key in arrangement.keys if key not in known]
    kinds = kinds_of([*have, *(kind.columns[0] for kind in extra if kind is not None)])
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
    """How a chart can be smoothed; one that was chosen elsewhere is among them."""
    weights = sorted({*WEIGHTS, setup.smoothing})
    return [
        SmoothingChoice(
            weight, tr("None") if weight == 0.0 else f"{weight:g}", weight == setup.smoothing
        )
        for weight in weights
    ]


def _group_of(kind: ChartKind) -> ChartGroup:
    return kind.group
