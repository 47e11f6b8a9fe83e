# pyright: basic
"""The processes of a journey: a training, and a window that draws its value or reloads it.

python -m tests.support.journey training VALUE      logs it until its input ends
python -m tests.support.journey drawing             a window, until it has drawn the value
python -m tests.support.journey reloading           a window, until it shows that it was reloaded
"""

import sys
import threading
from collections.abc import Callable
from typing import Any


def _train(value: float) -> None:
    import keras  # noqa: PLC0415 - only in the training process
    import numpy as np  # noqa: PLC0415

    from kmonitor_agent import MonitorCallback  # noqa: PLC0415

    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()

    class Logged(keras.callbacks.Callback):
        """Adds the value to the logs."""

        def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
            assert logs is not None
            logs["followed"] = value
            model.stop_training = is_over.wait(0.2)

    model: Any = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
    monitor = MonitorCallback("followed")
    model.fit(x, y, epochs=100_000, verbose=0, callbacks=[Logged(), monitor])


def _draw(app: Any, qt: Any) -> None:
    from kmonitor.ui.charts.arrangement import Arrangement, ChartSetup  # noqa: PLC0415
    from tests.support.waiting import wait_until  # noqa: PLC0415

    def n_drawn() -> int:
        qt.processEvents()
        curves = app.charts_controller.state("log:followed", 600).curves
        return len(curves[0].x) if curves else 0

    app.charts_controller.arrange(Arrangement([ChartSetup("log:followed")]))
    n_first = wait_until(n_drawn, what="the value as a curve")
    wait_until(lambda: n_drawn() > n_first, what="more of the curve")


def _reload(app: Any, qt: Any) -> None:
    from PySide6.QtCore import Qt  # noqa: PLC0415
    from PySide6.QtTest import QTest  # noqa: PLC0415
    from PySide6.QtWidgets import QListView  # noqa: PLC0415

    from kmonitor.ui.actions.qt.action_button import ActionButton  # noqa: PLC0415
    from tests.support.waiting import wait_until  # noqa: PLC0415

    def button() -> Any:
        qt.processEvents()
        buttons = app.window.actions_panel.findChildren(ActionButton)
        named = (each for each in buttons if each.accessibleName().endswith("Reload"))
        return next((each for each in named if each.isEnabled()), None)

    def is_shown() -> bool:
        found = button()
        model = app.window.records.log.findChild(QListView).model()
        texts = [model.index(row, 0).data() for row in range(model.rowCount())]
        is_done = any("Reloaded" in text or "Reload released nothing" in text for text in texts)
        return is_done and found is not None

    found = wait_until(button, what="a button that can be pressed")
    QTest.mouseClick(found, Qt.MouseButton.LeftButton)
    wait_until(is_shown, what="the result in the window")


def _show(act: Callable[[Any, Any], None]) -> None:
    from kmonitor.ui.settings.window_settings import WindowOptions  # noqa: PLC0415
    from kmonitor.ui.shell.qt.app import KmonitorApp  # noqa: PLC0415
    from kmonitor.ui.shell.qt.run_window import make_qt_application  # noqa: PLC0415
    from kmonitor_agent.wire.local.folders import find_folders  # noqa: PLC0415
    from tests.support.waiting import wait_until  # noqa: PLC0415

    qt = make_qt_application()
    app = KmonitorApp(qt, find_folders(), WindowOptions(size=(1400, 880)))

    def is_loaded() -> bool:
        qt.processEvents()
        is_there = app.charts_controller is not None and app.charts_controller.is_loaded
        return is_there and app.workspace.run_store.current() is not None

    app.start()
    try:
        wait_until(is_loaded, what="the run in the window")
        act(app, qt)
    finally:
        app.stop()


if __name__ == "__main__":
    match sys.argv[1]:
        case "training":
            _train(float(sys.argv[2]))
        case "drawing":
            _show(_draw)
        case _:
            _show(_reload)
