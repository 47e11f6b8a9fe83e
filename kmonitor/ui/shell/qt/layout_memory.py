"""Takes the layout that the user left, and tells it again to be remembered."""

import msgspec
from PySide6.QtCore import QObject, Signal

from kmonitor.ui.settings.window_settings import TableLayout, WindowSettings
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.row_table import RowTable


class LayoutMemory(QObject):
    """Of the panels around the charts, and of the columns of tables; main thread only.

    Signals:
        settings_changed: The user has let go of an edge.
    """

    settings_changed = Signal()

    def __init__(
        self, window: MainWindow, tables: dict[str, RowTable], settings: WindowSettings
    ) -> None:
        """Lay everything out as it was left.

        Args:
            window: The window, its parent.
            tables: Those whose columns are remembered, by name.
            settings: What was remembered.
        """
        super().__init__(window)
        self._sizes = window.panel_sizes
        self._tables = tables
        self._sizes.choose("left", settings.left_px)
        self._sizes.choose("right", settings.right_px)
        self._sizes.choose("below", settings.below_px)
        self._sizes.changed.emit()
        self._sizes.settled.connect(self.settings_changed)
        for name, table in tables.items():
            table.take_layout(settings.tables.get(name, TableLayout()))

    def settings(self, base: WindowSettings) -> WindowSettings:
        """The settings with the layout as it is now."""
        return msgspec.structs.replace(
            base,
            left_px=self._sizes.chosen("left"),
            right_px=self._sizes.chosen("right"),
            below_px=self._sizes.chosen("below"),
            tables=base.tables | {name: t.layout_now() for name, t in self._tables.items()},
        )
