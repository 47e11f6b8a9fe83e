"""Binds the history: finds and orders all runs, and names, notes, pins and deletes them."""

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.compare.qt.compare_controller import CompareController
from kmonitor.ui.history.history_table import history_heads
from kmonitor.ui.history.qt.history_view import RunHistoryPanel
from kmonitor.ui.history.run_history import KnownHub, RunHistory
from kmonitor.ui.history.selection import history_selection_state
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.text.formats import count_text
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.widgets.dialogs import ConfirmationBox, NameDialog, NameDialogText
from kmonitor.ui.widgets.keyboard import click_on_shortcut
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor.ui.workspace.run_edits import MAX_NAME, MAX_NOTE, confirm_delete
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.unions import RunSummary

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController


_MANY: Final = 500
_MANY_EVERY_S: Final = 0.9
"""Filtering thousands of runs takes about 20 ms: repeated rarely enough to go unnoticed."""


class HistoryController(QObject):
    """Refreshed by the window's controller; main thread only.

    Signals:
        run_requested: Id of a run to show on the charts.

    Attributes:
        comparison: Page that compares runs.
    """

    run_requested = Signal(str)

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._shown_s = 0.0
        self._finder = RunHistory(self._hub_of)
        self.panel = RunHistoryPanel(theme)
        window.add_page(self.panel)
        self.comparison = CompareController(window, theme, self)
        self._connect()
        self._show_order()

    def attach_controller(self, controller: "ChartsController") -> None:
        self.comparison.attach_controller(controller)

    @Slot()
    def open(self) -> None:
        """Show the page, with the current run selected."""
        self._window.show_page(self.panel)
        self.panel.begin()
        self._show()
        self.panel.choose(self._workspace.run_store.selected or "")
        self.panel.focus_first()

    @Slot()
    def close(self) -> None:
        """Show the charts again."""
        self._window.show_page(None)
        self._window.leave_focus_alone()

    def refresh(self) -> None:
        n = len(self._workspace.run_store)
        title = self.tr("History \u00b7 1 run") if n == 1 else self.tr("History \u00b7 {n} runs")
        self._window.run_tree.show_history_title(title.format(n=count_text(n)))
        self.comparison.refresh()
        is_due = n < _MANY or time.monotonic() - self._shown_s >= _MANY_EVERY_S
        if is_due and not self.panel.isHidden():
            self._show()

    def refresh_texts(self) -> None:
        """Rewrite every size in the units in force."""
        self.refresh()
        # Also while it is hidden: whoever opens it sees nothing of before.
        self._show()
        self.comparison.refresh_texts()

    def _show(self) -> None:
        self._shown_s = time.monotonic()
        now_wall_s = self._workspace.now_wall_s()
        rows = self._finder.rows(self._workspace.run_store, now_wall_s=now_wall_s)
        self.panel.filters.show_hosts(self._finder.hosts())
        self.panel.show_rows(
            rows,
            count=self._finder.count_text(len(rows)),
            empty=self._finder.empty_text(),
            now_wall_s=now_wall_s,
        )
        self._show_selection()

    def _connect(self) -> None:
        panel = self.panel
        panel.filter_changed.connect(self._on_panel_filter_changed)
        panel.sort_requested.connect(self._on_panel_sort_requested)
        panel.selection_changed.connect(self._on_panel_selection_changed)
        panel.opened.connect(self._on_panel_opened)
        panel.close_requested.connect(self.close)
        self.comparison.closed.connect(self._on_comparison_closed)
        panel.selection_bar.action_requested.connect(self._on_selection_bar_action_requested)
        self._window.run_tree.history_requested.connect(self.open)
        self._window.shortcut("history").activated.connect(self.open)

    def _hub_of(self, at: str) -> KnownHub:
        host = self._workspace.hosts.get(at)
        name = host.name if host is not None else ""
        return KnownHub(name, self._workspace.link_at(at).is_live)

    def _selected(self) -> list[RunSummary]:
        found = (self._workspace.run_store.get(run) for run in self.panel.selected())
        return [run for run in found if run is not None]

    def _show_selection(self) -> None:
        self.panel.selection_bar.show_state(
            history_selection_state(self._workspace, self._selected())
        )

    def _show_order(self) -> None:
        self.panel.show_order(self._finder.sorted_by, is_falling=self._finder.is_falling)

    def open_rename_dialog(self, run: RunSummary) -> None:
        label = self.tr("Name of the run (shown to everyone):")
        text = NameDialogText(self.tr("Rename run"), label, self.tr("Name of the run"))
        box = NameDialog(text, run.name, self._window, most_letters=MAX_NAME)
        box.textValueSelected.connect(partial(self._workspace.edits.rename, run))
        box.open()

    def open_note_dialog(self, run: RunSummary) -> None:
        dialog = NoteDialog(run.name, run.note, self._window)
        dialog.saved.connect(partial(self._workspace.edits.annotate, run))
        dialog.open()

    def confirm_deletion(self, runs: Sequence[RunSummary]) -> None:
        hosts = list(dict.fromkeys(self._workspace.hub_name(run.run) for run in runs))
        box = ConfirmationBox(confirm_delete(runs, hosts), self._window)
        box.accepted.connect(partial(self._workspace.edits.delete, runs))
        box.open()

    @Slot(str)
    def _on_selection_bar_action_requested(self, key: str) -> None:
        runs = self._selected()
        if not runs:
            return
        match key:
            case "open":
                self._on_panel_opened(runs[0].run)
            case "compare":
                self.comparison.open([run.run for run in runs])
            case "rename":
                self.open_rename_dialog(runs[0])
            case "note":
                self.open_note_dialog(runs[0])
            case "pin":
                is_pinned = all(run.pinned for run in runs)
                self._workspace.edits.pin(runs, is_pinned=not is_pinned)
            case "delete":
                self.confirm_deletion(runs)
            case _:
                return

    @Slot()
    def _on_comparison_closed(self) -> None:
        self._window.show_page(self.panel)
        self._show()
        self.panel.focus_first()

    @Slot(str)
    def _on_panel_opened(self, run: str) -> None:
        self.close()
        self.run_requested.emit(run)

    @Slot()
    def _on_panel_filter_changed(self) -> None:
        self._finder.history_filter = self.panel.current_filter()
        self._show()

    @Slot(str)
    def _on_panel_sort_requested(self, key: str) -> None:
        head = next(head for head in history_heads() if head.key == key)
        is_again = head.key == self._finder.sorted_by
        is_falling = not self._finder.is_falling if is_again else head.starts_high
        self._finder.sort(head.key, is_falling=is_falling)
        self._show_order()
        self._show()

    @Slot()
    def _on_panel_selection_changed(self) -> None:
        self._show_selection()


class NoteDialog(QDialog):
    """A field of several lines. A note that is too long cannot be saved; it is not shortened.

    Signals (main thread):
        saved: With the note.
    """

    saved = Signal(str)

    def __init__(self, name: str, note: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._name = name
        self.resize(460, 280)
        self._field = QPlainTextEdit(note)
        self._length = role_label("meta")
        self._save = QPushButton()
        self._cancel = QPushButton()
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Note"))
        self._field.setAccessibleName(self.tr("Note on {name}").format(name=self._name))
        self._field.setPlaceholderText(self.tr("Purpose or result of the run"))
        self._save.setText(self.tr("Save"))
        # A text takes the key of a button with it.
        click_on_shortcut("note_save", self._save)
        self._save.setToolTip(self.tr("Save the note (Ctrl+Return)"))
        self._cancel.setText(self.tr("Cancel"))
        self._cancel.setToolTip(self.tr("Discard the changes (Esc)"))
        for button in (self._save, self._cancel):
            button.setAccessibleName(button.text())
        self._on_field_changed()

    def _build(self) -> None:
        title = ElidedLabel("strong", self._name)
        self._field.setTabChangesFocus(True)
        self._save.setProperty("kind", "primary")
        for button in (self._save, self._cancel):
            button.setAutoDefault(False)
        self._field.textChanged.connect(self._on_field_changed)
        self._save.clicked.connect(self._on_save_clicked)
        self._cancel.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(self._length)
        row.addStretch(1)
        row.addWidget(self._cancel)
        row.addWidget(self._save)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(title)
        column.addWidget(self._field, 1)
        column.addLayout(row)

    @Slot()
    def _on_field_changed(self) -> None:
        n = len(self._field.toPlainText().strip())
        is_long = n > MAX_NOTE
        text = self.tr("{n} of {most} characters")
        self._length.setText(text.format(n=count_text(n), most=count_text(MAX_NOTE)))
        self._length.setVisible(n > MAX_NOTE // 2)
        set_tone(self._length, "crit" if is_long else "")
        self._save.setEnabled(not is_long)

    @Slot()
    def _on_save_clicked(self) -> None:
        self.saved.emit(self._field.toPlainText())
        self.accept()
