"""Actions that were carried out, as flags on the charts."""

from typing import Final

from kmonitor.ui.charts.series_store import SeriesStore
from kmonitor.ui.events.reclaims import RECLAIMS
from kmonitor.ui.events.record_facts import record_tooltip
from kmonitor.ui.plots.chart_state import FlagPicture, XKind
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import ActionRecord

_FLAGGED: Final = RECLAIMS | {"stop"}
_CLEARING: Final = frozenset({"collect", "reload", "restart"})


class FlagBook:
    """Records of actions by run, each once; main thread only."""

    def __init__(self) -> None:
        self._records: dict[str, dict[int, tuple[float, ActionRecord]]] = {}

    def add(self, run: str, row: int, t_s: float, record: ActionRecord) -> None:
        """Keep a record.

        Args:
            run: Run id.
            row: The hub's row id.
            t_s: Run time, seconds.
            record: What was done.
        """
        if record.action in _FLAGGED:
            self._records.setdefault(run, {})[row] = (t_s, record)

    def forget(self, run: str) -> None:
        """Forget those of a run."""
        self._records.pop(run, None)

    def flags(self, run: str, store: SeriesStore, kind: XKind) -> tuple[FlagPicture, ...]:
        """The flags of a run on an axis, rising."""
        found = sorted(self._records.get(run, {}).items(), key=_time)
        return tuple(
            FlagPicture(
                x=store.x_of(run, t_s, kind),
                text=_text(record),
                tooltip=_tooltip(record),
                ok=record.ok,
                row=row if record.action in RECLAIMS else None,
                # A save changes nothing on the curve: its label would only hide others.
                is_quiet=record.action == "save" and record.ok,
            )
            for row, (t_s, record) in found
        )

    def last_clearing_s(self, run: str) -> float:
        """Run time of the last collect, reload or restart that worked; 0 if there was none."""
        times = [
            t_s
            for t_s, record in self._records.get(run, {}).values()
            if record.ok and record.action in _CLEARING
        ]
        return max(times, default=0.0)


def _time(entry: tuple[int, tuple[float, ActionRecord]]) -> float:
    return entry[1][0]


def _text(record: ActionRecord) -> str:
    words = {
        "save": tr("save"),
        "collect": tr("collect"),
        "reload": tr("reload"),
        "restart": tr("restart"),
        "stop": tr("stop"),
    }
    word = words.get(record.action, record.action)
    return word if record.ok else tr("{action} failed").format(action=word)


def _tooltip(record: ActionRecord) -> str:
    text = record_tooltip(record)
    if record.action not in RECLAIMS:
        return text
    return f"{text}\n{tr('Click: its row in the table below')}"
