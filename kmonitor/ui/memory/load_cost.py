"""Cost of each way to load a model: the state of its measuring, and its rows."""

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
"""Processes for each way that are offered; medians need three."""

_KEPT_HUE: Final = 0
_PEAK_HUE: Final = 1
_OPTIMIZERS: Final = {
    "whole": later("optimizer present"),
    "without state": later("optimizer reset: its state is lost"),
    "lost": later("no optimizer"),
}


@dataclass(frozen=True, slots=True)
class CostRow:
    """One way.

    Attributes:
        title: What it is called.
        bar: What is kept, and what the load took beyond that.
        figures: Peak, kept and seconds.
        text: What came back, and whether training goes on; or why it does not work.
        tone: Of the text.
        marks: What it is recommended for; may be empty.
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
        rows: What was measured.
        reach: Length of the bars, bytes.
        n_done: Processes that have ended. total: Of how many; 0: none were started.
        is_running: They go on.
        progress: How far it is, as text.
        text: What there is to say instead of rows, or of them.
        tone: Of the text.
        recommended: To predict only, and to train on.
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
    """Keeps how far the measuring of one file is; main thread only."""

    def __init__(self) -> None:
        self._costs: tuple[LoadCost, ...] = ()
        self._done = self._total = 0
        self._is_running = False
        self._why: tuple[str, str] | None = None
        self._was_cancelled = False

    @property
    def is_running(self) -> bool:
        """True while processes are being measured."""
        return self._is_running

    def begin(self) -> None:
        """Measuring begins; what was measured before goes."""
        self._costs = ()
        self._done = 0
        self._total = 0
        self._is_running = True
        self._why = None
        self._was_cancelled = False

    def progress(self, n_done: int, total: int) -> None:
        """So many processes have ended."""
        self._done = n_done
        self._total = total

    def finish(self, costs: Sequence[LoadCost]) -> None:
        self._costs = tuple(costs)
        self._is_running = False

    def refuse(self, what: str, remedy: str) -> None:
        """It cannot be measured."""
        self._why = (what, remedy)
        self._is_running = False

    def cancel(self) -> None:
        """The user wants it no more."""
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
        return tr("{done} of {total} processes have ended").format(
            done=self._done, total=self._total
        )

    def _text(self) -> tuple[str, Tone]:
        if self._why is not None:
            return "\n".join(part for part in self._why if part), "crit"
        if self._is_running:
            return "", "mute"
        if self._was_cancelled:
            return tr("Cancelled; no results."), "mute"
        if self._costs:
            text = tr(
                "Median memory and best time. Memory is the RAM of the process, not "
                "counting the imported framework; no GPU is used. Model files contain "
                "neither the order of the data nor your script's random seeds."
            )
            return text, "mute"
        return (
            tr(
                "Each loading method runs in new processes, in alternating order. That takes a"
                " few seconds per process and needs enough memory for the model."
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
