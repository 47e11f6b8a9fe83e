"""Charts of a study: a metric of all folds over their epochs, and peak memory of each fold."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Final

from kmonitor.ui.memory.batch_curve import AxisTick
from kmonitor.ui.plots.axes import MOST_CHARTED, value_axis, x_axis
from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor.ui.studies.folds import AttemptState, fold_name
from kmonitor.ui.text.formats import bytes_text, count_text, number_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.messages.events import AnyEvent, EpochEnded
from kmonitor_agent.wire.messages.unions import EventRow, RowsReply, RowsRequest

_MOST_RUNS: Final = 1000
_MOST_PAGES: Final = 60
_FIRST_METRICS: Final = ("val_loss", "loss")
_MOST_DECIMALS: Final = 6
Point = tuple[float, float]
Curve = tuple[Point, ...]
_PointOf = Callable[[float, float], Point]


@dataclass(frozen=True, slots=True)
class FoldMetricState:
    """The chart of a metric; positions are 0..1 from the left and from the bottom.

    Attributes:
        choices: Names of the metrics that can be drawn; empty: none is known.
        folds: One thin line per fold.
        mean: Mean of the folds so far.
        band: Position from the left, lower and upper end of one standard deviation around the
            mean.
        x_ticks, y_ticks: Labels of the axes.
        value: "0.412 ± 0.031".
        text: Description of the value, or the reason why there is none.
    """

    choices: tuple[str, ...] = ()
    metric: str = ""
    folds: tuple[Curve, ...] = ()
    mean: Curve = ()
    band: tuple[tuple[float, float, float], ...] = ()
    x_ticks: tuple[AxisTick, ...] = ()
    y_ticks: tuple[AxisTick, ...] = ()
    value: str = ""
    text: str = ""


@dataclass(slots=True)
class _Logs:
    """Keras' logs of one run, by fit and epoch; a repeated epoch replaces its logs."""

    by_epoch: dict[tuple[int, int], dict[str, float]] = field(
        default_factory=dict[tuple[int, int], dict[str, float]]
    )


class FoldMetricStore:
    """Epochs of one study's runs, requested once and updated by live rows; main thread only.

    Attributes:
        metric: Metric to draw; empty: the default.
    """

    def __init__(self, request: SendRequest) -> None:
        self.metric = ""
        self._send_request = request
        self._requests: dict[int, tuple[list[str], int]] = {}
        self._logs: dict[str, _Logs] = {}
        self._metric_state = FoldMetricState()
        self._shown: tuple[object, ...] = ()
        self._changes = 0

    def want(self, runs: Collection[str]) -> None:
        """Follow exactly these runs."""
        for run in [run for run in self._logs if run not in runs]:
            del self._logs[run]
        new = [run for run in runs if run not in self._logs]
        for run in new:
            self._logs[run] = _Logs()
        for at in range(0, len(new), _MOST_RUNS):
            self._request_page(new[at : at + _MOST_RUNS], 0, 0)

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            self._logs.pop(run, None)

    def apply_rows(self, reply: RowsReply) -> bool:
        """Process a page of rows requested here, and request the next; False if it was not."""
        request = self._requests.pop(reply.request_id, None)
        if request is None:
            return False
        runs, page = request
        if reply.more and page < _MOST_PAGES:
            self._request_page(runs, reply.cursor, page + 1)
        return True

    def refuse(self, request_number: int) -> None:
        """Drop the runs of a refused request, so that they are requested again when needed."""
        runs, _ = self._requests.pop(request_number, ([], 0))
        self.forget(runs)

    def apply_event(self, row: EventRow, event: AnyEvent) -> None:
        """Process an event of any run."""
        logs = self._logs.get(row.run)
        if logs is not None and isinstance(event, EpochEnded):
            logs.by_epoch[event.fit, event.epoch] = dict(event.logs)
            self._changes += 1

    def state(
        self,
        runs: Mapping[int, str],
        finished: Collection[int],
        *,
        size_px: tuple[int, int],
        noun: Noun = "fold",
    ) -> FoldMetricState:
        """Return the chart of these runs; the same object while nothing changed.

        Args:
            runs: Run ids by fold.
            finished: Finished folds; if there are any, the value covers only these.
            size_px: Width and height of the drawing.
            noun: "fold" or "trial", for texts.
        """
        which = (tuple(runs.items()), frozenset(finished), size_px, noun)
        shown = (self._changes, self.metric, which, tr("epoch {n}"))
        if shown != self._shown:
            self._shown = shown
            logs = {fold: self._logs[run] for fold, run in runs.items() if run in self._logs}
            self._metric_state = self._build_metric_state(logs, finished, size_px, noun)
        return self._metric_state

    def _request_page(self, runs: list[str], cursor: int, page: int) -> None:
        number = self._send_request(
            RowsRequest(request_id=0, cursor=cursor, runs=runs, kinds=["epoch_end"])
        )
        self._requests[number] = (runs, page)

    def _build_metric_state(
        self,
        logs: Mapping[int, _Logs],
        finished: Collection[int],
        size_px: tuple[int, int],
        noun: Noun,
    ) -> FoldMetricState:
        choices = _choices(logs.values())
        if not choices:
            return FoldMetricState(text=_silent_text(has_runs=bool(logs)))
        metric = self.metric if self.metric in choices else choices[0]
        of_fold = {fold: _values(each, metric) for fold, each in logs.items()}
        of_fold = {fold: line for fold, line in of_fold.items() if any(map(math.isfinite, line))}
        lines = list(of_fold.values())
        counted = [line for fold, line in of_fold.items() if fold in finished] or lines
        finite = [value for line in lines for value in line if math.isfinite(value)]
        if not finite:
            return FoldMetricState(choices, metric, text=tr("No value yet."))
        n_epochs = max(len(line) for line in lines)
        axis = value_axis(min(finite), max(finite), unit="number", height_px=size_px[1])
        span = axis.hi - axis.lo

        def place(at: float, value: float) -> Point:
            x = at / (n_epochs - 1) if n_epochs > 1 else 0.5
            return x, min(1.0, max(0.0, (value - axis.lo) / span))

        spread = _spread(lines)
        below = x_axis("epochs", 1.0, max(2.0, float(n_epochs)), width_px=size_px[0])
        return FoldMetricState(
            choices=choices,
            metric=metric,
            folds=tuple(_line(line, place) for line in lines),
            mean=tuple(place(at, mean) for at, mean, _ in spread),
            band=tuple(
                (place(at, mean)[0], place(at, mean - by)[1], place(at, mean + by)[1])
                for at, mean, by in spread
            ),
            x_ticks=tuple(
                AxisTick(place(tick - 1.0, axis.lo)[0], text)
                for tick, text in zip(below.ticks, below.texts, strict=True)
                if 1.0 <= tick <= n_epochs
            ),
            y_ticks=tuple(
                AxisTick(place(0, tick)[1], text)
                for tick, text in zip(axis.ticks, axis.texts, strict=True)
            ),
            value=_last_text(counted),
            text=_average_text(metric, len(counted), noun, is_final=len(counted) < len(lines)),
        )


def _choices(logs: Iterable[_Logs]) -> tuple[str, ...]:
    names = {name for each in logs for of_epoch in each.by_epoch.values() for name in of_epoch}
    of_validation = sorted(name for name in names if name.startswith("val_"))
    rest = sorted(names - set(of_validation))
    first = [name for name in _FIRST_METRICS if name in names]
    return tuple(dict.fromkeys((*first[:1], *of_validation, *first, *rest)))


def _values(logs: _Logs, metric: str) -> list[float]:
    """Values in the order of the epochs; NaN where the logs lack the metric."""
    by_epoch = logs.by_epoch
    values = [by_epoch[key].get(metric, math.nan) for key in sorted(by_epoch)]
    return [each if abs(each) <= MOST_CHARTED else math.nan for each in values]


def _line(values: Sequence[float], point_of: _PointOf) -> Curve:
    return tuple(point_of(at, value) for at, value in enumerate(values) if math.isfinite(value))


def _spread(lines: Sequence[Sequence[float]]) -> list[tuple[int, float, float]]:
    """Epoch from 0, mean and standard deviation over the folds that have reached the epoch."""
    found: list[tuple[int, float, float]] = []
    for at in range(max(len(line) for line in lines)):
        values = [line[at] for line in lines if at < len(line) and math.isfinite(line[at])]
        if values:
            found.append((at, fmean(values), stdev(values) if len(values) > 1 else 0.0))
    return found


def _lasts(lines: Sequence[Sequence[float]]) -> list[float]:
    lasts = ((value for value in reversed(line) if math.isfinite(value)) for line in lines)
    return [next(each) for each in lasts]


def _last_text(lines: Sequence[Sequence[float]]) -> str:
    lasts = _lasts(lines)
    mean = fmean(lasts)
    spread = stdev(lasts) if len(lasts) > 1 else 0.0
    if not spread:
        return number_text(mean)
    # Digits of the mean below the spread have no meaning.
    decimals = min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(spread))))
    return f"{mean:.{decimals}f} \u00b1 {spread:.{decimals}f}".replace("-", "\u2212")


def _silent_text(*, has_runs: bool) -> str:
    if has_runs:
        return tr("No fold has finished an epoch yet.")
    return tr("Folds report epochs only if their fit has a MonitorCallback.")


def _average_text(metric: str, n: int, noun: Noun, *, is_final: bool) -> str:
    is_fold = noun == "fold"
    if n == 1:
        text = tr("{metric} of 1 trial at its last epoch")
        text = tr("{metric} of 1 fold at its last epoch") if is_fold else text
    elif is_final:
        text = tr("mean \u00b1 standard deviation of {metric} over the {n} finished trials")
        if is_fold:
            text = tr("mean \u00b1 standard deviation of {metric} over the {n} finished folds")
    else:
        text = tr(
            "mean \u00b1 standard deviation of {metric} over {n} trials, each at its last epoch"
        )
        if is_fold:
            text = tr(
                "mean \u00b1 standard deviation of {metric} over {n} folds, each at its last epoch"
            )
    return text.format(metric=metric, n=count_text(n))


@dataclass(frozen=True, slots=True)
class FoldMemoryBar:
    """Peak memory of one fold; heights are 0..1 of the axis.

    Attributes:
        fold: Index.
        ram: Peak of the fold's processes; None: not known.
        vram: Peak on the fold's GPU; None: not known.
        is_over: True if the fold was ended because of its memory.
        tooltip: The same values as text.
    """

    fold: int
    ram: float | None
    vram: float | None
    is_over: bool
    tooltip: str


@dataclass(frozen=True, slots=True)
class FoldMemoryState:
    """The chart of peak memory.

    Attributes:
        bars: Bars of the folds, in order.
        bound: Height of the `memory=` limit; None: there is no limit.
        has_vram: True if any fold used a GPU.
        y_ticks: Labels of the axis.
        title: Title of the chart, with the axis' unit.
        text: Highest value and limit as text, or the reason why there is no chart.
    """

    bars: tuple[FoldMemoryBar, ...] = ()
    bound: float | None = None
    has_vram: bool = False
    y_ticks: tuple[AxisTick, ...] = ()
    title: str = ""
    text: str = ""


def fold_memory_state(
    tries: Sequence[Sequence[AttemptState]], bound_bytes: float | None, *, height_px: float
) -> FoldMemoryState:
    """Return the chart with the highest value of all attempts at each fold.

    Args:
        bound_bytes: Memory limit of a fold; None: only the host limits it.
    """
    rams = [_highest(each.ram_bytes for each in of_fold) for of_fold in tries]
    vrams = [_highest(each.vram_bytes for each in of_fold) for of_fold in tries]
    known = [each for each in (*rams, *vrams) if each is not None]
    if not known:
        return FoldMemoryState(
            title=tr("Peak memory"), text=tr("No fold has reported its memory yet.")
        )
    most = max(known)
    # A bound far above what is taken would press all bars to the ground.
    is_near = bound_bytes is not None and bound_bytes <= 4.0 * most
    limit = bound_bytes if is_near else None
    axis = value_axis(0.0, most, unit="bytes", height_px=height_px, limit=limit)
    bars = tuple(
        FoldMemoryBar(
            fold=of_fold[-1].fold,
            ram=None if ram is None else ram / axis.hi,
            vram=None if vram is None else vram / axis.hi,
            is_over=any(each.state == "out_of_memory" for each in of_fold),
            tooltip=_bar_text(of_fold[-1], ram, vram),
        )
        for of_fold, ram, vram in zip(tries, rams, vrams, strict=True)
    )
    return FoldMemoryState(
        bars=bars,
        bound=None if limit is None else min(1.0, limit / axis.hi),
        has_vram=any(each is not None for each in vrams),
        y_ticks=tuple(
            AxisTick(tick / axis.hi, text)
            for tick, text in zip(axis.ticks, axis.texts, strict=True)
        ),
        title=tr("Peak memory, {unit}").format(unit=axis.unit) if axis.unit else tr("Peak memory"),
        text=_ram_text(rams, bound_bytes),
    )


def _highest(values: Iterable[float | None]) -> float | None:
    return max((each for each in values if each is not None), default=None)


def _bar_text(fold: AttemptState, ram: float | None, vram: float | None) -> str:
    parts = [fold_name(fold.fold, fold.noun)]
    if ram is not None:
        parts.append(tr("RAM {size}").format(size=bytes_text(ram)))
    if vram is not None:
        parts.append(tr("VRAM {size}").format(size=bytes_text(vram)))
    return " \u00b7 ".join(parts)


def _ram_text(rams: Sequence[float | None], bound_bytes: float | None) -> str:
    known = [each for each in rams if each is not None]
    parts = [tr("RAM up to {size}").format(size=bytes_text(max(known)))] if known else []
    if bound_bytes is not None:
        parts.append(tr("limit {size}").format(size=bytes_text(bound_bytes)))
    return " \u00b7 ".join(parts)
