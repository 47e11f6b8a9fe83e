"""Cost of one choice on the memory map's page: estimate, tiles, rows and painting.

Run alone: `python tests/benchmarks/bench_map_page.py`; offscreen. Processor time.
"""

import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from kmonitor.ui.memory.layers import map_rows, map_tiles
from kmonitor.ui.memory.map_estimator import MapEstimator
from kmonitor.ui.memory.subjects import MapSubject, SizedLayout
from tests.benchmarks.judging import Judge
from tests.support.desk_window import DeskWindow
from tests.support.made_up_maps import convolutions, file_subject
from tests.support.made_up_runs import made_up_run

BOUND_MS = 50.0


def choice_ms() -> float:
    """Another batch size for a model of two hundred layers, ready to be drawn."""
    layout = convolutions(64, blocks=5, repeats=13)
    desk = MapEstimator()
    desk.show(MapSubject(key="m", title="m", kind="run", sizes=(SizedLayout("", layout),)))

    def choose(batch: int) -> None:
        desk.choose(batch=batch)
        found = desk.map_estimate.found
        assert found is not None
        assert map_tiles(found)
        assert map_rows(found, has_calls=True)

    return min(_cpu_ms(lambda batch=batch: choose(batch)) for batch in (16, 48, 96))


def slider_ms() -> float:
    """The slider moved by one: picture and peak are painted."""
    window = DeskWindow(with_charts=False)
    window.connect()
    window.tell_runs(made_up_run())
    memory = window.controller.memory
    memory.open_file(file_subject())
    while memory.map_estimator.step():
        pass
    slider = memory.panel.if_sidebar.controls.batch.slider

    def move() -> None:
        slider.setValue(slider.value() + 1)
        memory.panel.repaint()

    took_ms = min(_cpu_ms(move) for _ in range(3))
    window.close()
    return took_ms


def _cpu_ms(act: Callable[[], None]) -> float:
    began_s = time.process_time()
    act()
    return (time.process_time() - began_s) * 1e3


def main() -> int:
    """Print both; 1 if a bound is missed on a quiet machine."""
    with Judge() as judge:
        judge.add("another batch size, 200 layers", choice_ms(), BOUND_MS, "ms")
        judge.add("the batch slider by one", slider_ms(), BOUND_MS, "ms")
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
