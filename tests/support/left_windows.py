"""Main windows that a test left."""

import sys


def main_windows_left() -> list[object]:
    """Main windows that are there after what is to be deleted later was deleted."""
    # Most tests run without Qt: it is not imported here.
    widgets, core = sys.modules.get("PySide6.QtWidgets"), sys.modules.get("PySide6.QtCore")
    qt = widgets.QApplication.instance() if widgets else None
    if widgets is None or core is None or qt is None:
        return []
    qt.sendPostedEvents(None, core.QEvent.Type.DeferredDelete)
    return [
        each
        for each in widgets.QApplication.topLevelWidgets()
        if isinstance(each, widgets.QMainWindow)
    ]
