"""Cost of each way to load a model: progress of the measurement, and its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.memory.model_files.load_cost import (
    LOADING_METHODS,
    LoadCost,
    Recommendation,
    recommend,
)
from kmonitor.ui.memory.totals import BarPart
from kmonitor.ui.text.formats import bytes_text, seconds_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor.ui.theme.palettes import Tone

REPEATS: Final = (1, 3, 5)
"""Numbers of processes per way that the user can choose; medians need three."""

_KEPT_HUE: Final = 0
_PEAK_HUE: Final = 1
_OPTIMIZERS: Final = {
    "whole": later("optimizer present"),
    "without state": later("optimizer reset: its state is lost"),
    "lost": later("no optimizer"),
}


@dataclass(frozen=True, slots=True)
class CostRow:
    """One way to load the model.

    Attributes:
        title: Name of the way.
        bar: Memory kept after the load, and the additional memory during the load.
        figures: Peak, kept memory and seconds, as text.
        text: Restored optimizer state, and whether training can resume exactly; or the error of
            the load.
        tone: Tone of the text.
        marks: Uses for which the way is recommended; may be empty.
    """

    title: str
    bar: tuple[BarPart, ...]
    figures: str
    text: str
    tone: Tone
    marks: str


@dataclass(frozen=True, slots=True)
class LoadCostState:
    """The left side of the file's window.

    Attributes:
        rows: One row per measured way.
        reach: Length of the bars, bytes.
        n_done: Number of ended processes. total: Number of all processes; 0: none were started.
        is_running: True while processes run.
        text: Note on the rows, or text in place of rows.
        tone: Tone of the text.
        recommended: Recommended ways for prediction only, and for training.
    """

    rows: tuple[CostRow, ...] = ()
    reach: float = 1.0
    n_done: int = 0
    total: int = 0
    is_running: bool = False
    progress: str = ""
    text: str = ""
    tone: Tone = "mute"
    recommended: tuple[str, ...] = ()


class LoadCostStore:
    """Stores the progress of measuring one file; main thread only."""

    def __init__(self) -> None:
        self._costs: tuple[LoadCost, ...] = ()
        self._done = self._total = 0
        self._is_running = False
        self._why: tuple[str, str] | None = None
        self._was_cancelled = False

    @property
    def is_running(self) -> bool:
        return self._is_running

    def begin(self) -> None:
        """Begin a measurement; earlier results are dropped."""
        self._costs = ()
        self._done = 0
        self._total = 0
        self._is_running = True
        self._why = None
        self._was_cancelled = False

    def progress(self, n_done: int, total: int) -> None:
        """Set the number of ended processes."""
        self._done = n_done
        self._total = total

    def finish(self, costs: Sequence[LoadCost]) -> None:
        self._costs = tuple(costs)
        self._is_running = False

    def refuse(self, what: str, remedy: str) -> None:
        """Record why the file cannot be measured."""
        self._why = (what, remedy)
        self._is_running = False

    def cancel(self) -> None:
        """Record that the user cancelled the measurement."""
        self._is_running = False
        self._was_cancelled = True

    def state(self) -> LoadCostState:
        best = recommend(self._costs)
        text, tone = self._text()
        return LoadCostState(
            rows=tuple(_row(each, best) for each in self._costs),
            reach=max([1.0, *(float(each.peak_bytes) for each in self._costs)]),
            n_done=self._done,
            total=self._total,
            is_running=self._is_running,
            progress=self._progress_text(),
            text=text,
            tone=tone,
            recommended=_recommended(best) if self._costs else (),
        )

    def _progress_text(self) -> str:
        if not self._is_running:
            return ""
        if not self._done:
            return tr("The first process is loading the model\u2026")
        return tr("{done} of {total} processes have finished").format(
            done=self._done, total=self._total
        )

    def _text(self) -> tuple[str, Tone]:
        if self._why is not None:
            return "\n".join(part for part in self._why if part), "crit"
        if self._is_running:
            return "", "mute"
        if self._was_cancelled:
            return tr("Canceled; no results."), "mute"
        if self._costs:
            text = tr(
                "Median memory and best time. Memory is the RAM of the process, not "
                "counting the imported framework; no GPU is used. Model files contain "
                "neither the order of the data nor your script's random seeds."
            )
            return text, "mute"
        return (
            tr(
                "Each loading method runs in new processes, in alternating order. This takes a "
                "few seconds per process and needs enough memory for the model."
            ),
            "mute",
        )


def _row(cost: LoadCost, best: Recommendation) -> CostRow:
    title = translated_text(LOADING_METHODS[cost.loading_method])
    if cost.error:
        text = tr("does not work: {why}").format(why=cost.error)
        return CostRow(title, (), "", text, "crit", "")
    kept_bytes = cost.resident_bytes
    peak = cost.peak_bytes
    more = max(0, peak - kept_bytes)
    bar = (
        BarPart(
            peak - more,
            _KEPT_HUE,
            tr("kept after loading"),
            bytes_text(kept_bytes),
            is_transient=False,
        ),
        BarPart(more, _PEAK_HUE, tr("only while loading"), bytes_text(more), is_transient=True),
    )
    values_text = tr("peak {peak}, kept {kept}, {seconds}").format(
        peak=bytes_text(peak), kept=bytes_text(kept_bytes), seconds=seconds_text(cost.seconds)
    )
    goes_on = (
        tr("training can resume exactly where it left off")
        if cost.can_train_on
        else tr("training cannot resume exactly where it left off")
    )
    marks = [
        text
        for method, text in (
            (best.predict, tr("best for prediction")),
            (best.train, tr("best for continuing training")),
        )
        if method == cost.loading_method
    ]
    text = f"{tr(_OPTIMIZERS[cost.optimizer])} \u00b7 {goes_on}"
    tone: Tone = "ok" if cost.can_train_on else "mute"
    return CostRow(title, bar, values_text, text, tone, " \u00b7 ".join(marks))


def _recommended(best: Recommendation) -> tuple[str, ...]:
    predict = (
        translated_text(LOADING_METHODS[best.predict]) if best.predict else tr("no method works")
    )
    train = (
        translated_text(LOADING_METHODS[best.train])
        if best.train
        else tr("none: no method restores the optimizer's state")
    )
    return (
        tr("For prediction only: {way}").format(way=predict),
        tr("To continue training: {way}").format(way=train),
    )
