"""Main windows that a test left."""

import gc
import sys


def main_windows_left() -> list[object]:
    """Main windows that exist after what is to be deleted later was deleted."""
    # Most tests run without Qt: it is not imported here.
    widgets, core = sys.modules.get("PySide6.QtWidgets"), sys.modules.get("PySide6.QtCore")
    qt = widgets.QApplication.instance() if widgets else None
    if widgets is None or core is None or qt is None:
        return []
    qt.sendPostedEvents(None, core.QEvent.Type.DeferredDelete)
    # Objects that a test's window dropped go here, on the thread where they live: a collection
    # that met them on one of the next test's threads would end the process.
    gc.collect(1)
    return [each for each in _top_level_widgets() if isinstance(each, widgets.QMainWindow)]


def _top_level_widgets() -> list[object]:
    """All that exist, with no garbage collected meanwhile.

    Qt lists addresses, and PySide makes a Python object for each: a collection that begins there
    can delete a widget that is listed and only garbage still held. The app and its tests' windows
    keep collections to their own moments.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys.modules["PySide6.QtWidgets"].QApplication.topLevelWidgets()
    finally:
        if was_enabled:
            gc.enable()
