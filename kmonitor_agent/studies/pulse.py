"""A thread in a fold's process that tells how far the function is."""

import sys
import threading
import time
from typing import Any, Final

from kmonitor_agent.studies.fold import Fold
from kmonitor_agent.studies.fold_messages import Mouth, Phase, Stepped

_EVERY_S: Final = 0.25
_NAME: Final = "kmonitor-fold"


class Pulse:
    """Looks four times a second at the fits with MonitorCallback and at `fold.step()`."""

    def __init__(self, fold: Fold, mouth: Mouth) -> None:
        """Begin.

        Args:
            fold: Whose function runs.
            mouth: Who tells.
        """
        self._fold = fold
        self._mouth = mouth
        self._stop = threading.Event()
        self._was_in_fit = False
        self._vram_bytes: float | None = None
        self._thread = threading.Thread(target=self._run, name=_NAME, daemon=True)
        self._thread.start()

    def end(self) -> Stepped:
        """Stop, and how far it came."""
        self._stop.set()
        self._thread.join(timeout=1.0)
        return self._look()

    def _run(self) -> None:
        last: tuple[object, ...] = ()
        while not self._stop.wait(_EVERY_S):
            try:
                seen = self._look()
            except Exception:  # noqa: BLE001, S112 - a fold must not end for want of its pulse
                continue
            now = (seen.steps, seen.phase, seen.share, seen.private)
            if now != last:
                last = now
                self._mouth.tell(seen)

    def _look(self) -> Stepped:
        steps, of = self._fold.progress
        phase: Phase = "step" if steps else "begin"
        share = steps / of if of else None
        private = False
        for session in _sessions():
            private = private or session.privacy.private
            watched = session.watched_now()
            steps += session.steps_done
            fit = watched.fit
            self._vram_bytes = _vram(watched.framework) or self._vram_bytes
            if fit is None:
                phase = "after" if self._was_in_fit else phase
                continue
            self._was_in_fit = True
            begun = fit.clock.steps if fit.is_in_epoch else 0
            steps += begun
            phase = _phase(fit, begun)
            share = _share(fit, begun)
        return Stepped(time.monotonic(), steps, phase, share, self._vram_bytes, private)


def _sessions() -> list[Any]:
    runs = sys.modules.get("kmonitor_agent.recording.runs")
    return [] if runs is None else runs.RUNS.sessions()


def _phase(fit: Any, begun: int) -> Phase:
    if fit.epochs_done == 0 and begun == 0:
        return "begin"
    is_last = fit.planned_steps is None or begun >= fit.planned_steps
    return "between" if begun == 0 or is_last else "step"


def _share(fit: Any, begun: int) -> float | None:
    if not fit.planned_epochs:
        return None
    within = min(1.0, begun / fit.planned_steps) if fit.planned_steps else 0.0
    epoch = fit.epoch + (within if fit.is_in_epoch else 1.0)
    return min(1.0, epoch / fit.planned_epochs)


def _vram(framework: Any) -> float | None:
    """Peak of the framework's allocator on its GPU, bytes."""
    readings = None if framework is None else framework.allocator()
    if readings is None or not str(readings.device).lower().startswith(("gpu", "cuda")):
        return None
    peak = readings.peak.value
    return None if peak is None else float(peak)
