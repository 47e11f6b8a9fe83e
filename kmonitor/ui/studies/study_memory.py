"""Memory of a study's folds side by side, with the bound that they run under."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kmonitor.ui.memory.what_if import CurveTick
from kmonitor.ui.plots.axes import value_axis
from kmonitor.ui.studies.folds import TryPicture, fold_name
from kmonitor.ui.text.formats import bytes_text
from kmonitor.ui.text.language import tr


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """What one fold took; heights are 0..1 of the axis.

    Attributes:
        fold: Index.
        ram: Of its processes; None: not known.
        vram: Of its GPU; None likewise.
        is_over: It was ended for want of memory.
        tooltip: The same in words.
    """

    fold: int
    ram: float | None
    vram: float | None
    is_over: bool
    tooltip: str


@dataclass(frozen=True, slots=True)
class MemoryPicture:
    """The chart.

    Attributes:
        bars: By fold.
        bound: How high `memory=` is; None: none was given.
        has_vram: Whether any fold used a GPU.
        y_ticks: Beside the axis.
        title: What it is, with the axis' unit.
        text: The highest and the bound in words, or why there is nothing.
    """

    bars: tuple[MemoryBar, ...] = ()
    bound: float | None = None
    has_vram: bool = False
    y_ticks: tuple[CurveTick, ...] = ()
    title: str = ""
    text: str = ""


def memory_picture(
    tries: Sequence[Sequence[TryPicture]], bound_bytes: float | None, *, height_px: float
) -> MemoryPicture:
    """The highest of all tries of each fold.

    Args:
        tries: Of each fold.
        bound_bytes: What a fold may hold; None: only the host bounds it.
        height_px: Of the plot.
    """
    rams = [_highest(each.ram_bytes for each in of_fold) for of_fold in tries]
    vrams = [_highest(each.vram_bytes for each in of_fold) for of_fold in tries]
    known = [each for each in (*rams, *vrams) if each is not None]
    if not known:
        return MemoryPicture(
            title=tr("Peak memory"), text=tr("No fold has told of its memory yet.")
        )
    most = max(known)
    # A bound far above what is taken would press all bars to the ground.
    is_near = bound_bytes is not None and bound_bytes <= 4.0 * most
    limit = bound_bytes if is_near else None
    axis = value_axis(0.0, most, unit="bytes", height_px=height_px, limit=limit)
    bars = tuple(
        MemoryBar(
            fold=of_fold[-1].fold,
            ram=None if ram is None else ram / axis.hi,
            vram=None if vram is None else vram / axis.hi,
            is_over=any(each.state == "out_of_memory" for each in of_fold),
            tooltip=_bar_words(of_fold[-1], ram, vram),
        )
        for of_fold, ram, vram in zip(tries, rams, vrams, strict=True)
    )
    return MemoryPicture(
        bars=bars,
        bound=None if limit is None else min(1.0, limit / axis.hi),
        has_vram=any(each is not None for each in vrams),
        y_ticks=tuple(
            CurveTick(tick / axis.hi, text)
            for tick, text in zip(axis.ticks, axis.texts, strict=True)
        ),
        title=tr("Peak memory, {unit}").format(unit=axis.unit) if axis.unit else tr("Peak memory"),
        text=_words(rams, bound_bytes),
    )


def _highest(values: Iterable[float | None]) -> float | None:
    return max((each for each in values if each is not None), default=None)


def _bar_words(fold: TryPicture, ram: float | None, vram: float | None) -> str:
    parts = [fold_name(fold.fold, fold.noun)]
    if ram is not None:
        parts.append(tr("RAM {size}").format(size=bytes_text(ram)))
    if vram is not None:
        parts.append(tr("VRAM {size}").format(size=bytes_text(vram)))
    return " \u00b7 ".join(parts)


def _words(rams: Sequence[float | None], bound_bytes: float | None) -> str:
    known = [each for each in rams if each is not None]
    parts = [tr("RAM up to {size}").format(size=bytes_text(max(known)))] if known else []
    if bound_bytes is not None:
        parts.append(tr("bound {size}").format(size=bytes_text(bound_bytes)))
    return " \u00b7 ".join(parts)
