"""Detail windows: evidence, end of a run, action record, diagnosis."""

from collections.abc import Iterable
from html import escape

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPushButton,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.events.action_records import RecordState
from kmonitor.ui.events.diagnosis import DiagnosisRow, DiagnosisSection, DiagnosisState
from kmonitor.ui.text.language import tr
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.verdicts.evidence import EvidenceState
from kmonitor.ui.widgets.keyboard import click_on_shortcut
from kmonitor.ui.widgets.labels import ElidedLabel

_BELOW_SUBTITLE = 2


class DetailWindow(QDialog):
    """Title, a sentence, the evidence, and a button that copies all text; not modal."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self.resize(660, 560)
        self._title = ElidedLabel("title")
        self._subtitle = ElidedLabel("sub", at_end=True)
        self._lead = role_label("strong_small")
        self._lead.setWordWrap(True)
        self.reader = QTextBrowser()
        self._copy = QPushButton()
        self._close = QPushButton()
        self.bottom = QHBoxLayout()
        self._build_reader()
        self._set_reader_texts()
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()

    def _set_reader_texts(self) -> None:
        self.reader.setAccessibleName(self.tr("Evidence"))
        self._copy.setText(self.tr("Copy"))
        self._copy.setToolTip(self.tr("Copy everything as text"))
        self._close.setText(self.tr("Close"))
        self._close.setToolTip(self.tr("Close this window (Esc)"))
        for button in (self._copy, self._close):
            button.setAccessibleName(button.text())

    def text(self) -> str:
        """The text that Copy copies."""
        return self._text

    def copy(self) -> None:
        """Copy the whole text to the clipboard as plain text."""
        QGuiApplication.clipboard().setText(self._text)

    def show_heading(self, title: str, subtitle: str, lead: str) -> None:
        """Set the texts above the evidence."""
        self._title.setText(title)
        self._subtitle.setText(subtitle)
        self._subtitle.setVisible(bool(subtitle))
        self._lead.setText(lead)
        self._lead.setVisible(bool(lead))

    def show_evidence(self, html: str, text: str) -> None:
        """Set the evidence as rich text, and the text to copy; the same again changes nothing."""
        self._text = text
        self._copy.setVisible(bool(text))
        bar = self.reader.verticalScrollBar()
        at = bar.value()
        self.reader.setHtml(html)
        bar.setValue(at)

    def redraw(self) -> None:
        """Draw the evidence in the current colours."""

    def bring_to_front(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()

    def _build_reader(self) -> None:
        self.reader.setOpenLinks(False)
        # Long paths and type names go on in the next line.
        self.reader.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.reader.document().setDocumentMargin(2)
        for button in (self._copy, self._close):
            button.setAutoDefault(False)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._close.clicked.connect(self.close)
        self.bottom.addStretch(1)
        self.bottom.addWidget(self._copy)
        self.bottom.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(6)
        for part in (self._title, self._subtitle, self._lead):
            column.addWidget(part)
        column.addWidget(self.reader, 1)
        column.addLayout(self.bottom)

    @Slot()
    def _on_copy_clicked(self) -> None:
        self.copy()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._copy.setIcon(self._theme.icon("copy"))
        self.redraw()


class EvidenceWindow(DetailWindow):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._evidence_state: EvidenceState | None = None
        super().__init__(theme, parent)

    def show_state(self, state: EvidenceState) -> None:
        if state == self._evidence_state:
            return
        self._evidence_state = state
        self.show_heading(state.title, state.subtitle, state.lead)
        set_tone(self._title, state.tone if state.tone in {"warn", "crit"} else "")
        self.redraw()

    @override
    def redraw(self) -> None:
        if self._evidence_state is not None:
            html = evidence_html(self._evidence_state, self._theme.palette)
            self.show_evidence(html, self._evidence_state.as_text())


class RunEndWindow(EvidenceWindow):
    """End of a run, with its memory in the last minute."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.resize(660, 340)
        self.setWindowTitle(self.tr("End of run"))


class RecordWindow(DetailWindow):
    """One record of the reclaim table in full."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._record_state: RecordState | None = None
        super().__init__(theme, parent)
        self.setWindowTitle(self.tr("Reclaim"))

    def show_state(self, state: RecordState) -> None:
        self._record_state = state
        self.show_heading(state.title, state.subtitle, "")
        set_tone(self._title, "" if state.ok else "warn")
        self.redraw()

    @override
    def redraw(self) -> None:
        if self._record_state is not None:
            html = record_html(self._record_state, self._theme.palette)
            self.show_evidence(html, self._record_state.as_text())


class DiagnosisWindow(DetailWindow):
    """The diagnoses of a run, the newest first; stays open while the next one is taken.

    Signals (main thread):
        diagnose_requested: Another diagnosis is requested.
        step_requested: -1 for the diagnosis before, 1 for the one after.
    """

    diagnose_requested = Signal()
    step_requested = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._diagnosis_state: DiagnosisState | None = None
        super().__init__(theme, parent)
        self.progress = role_label("sub")
        self.progress.setWordWrap(True)
        self.before_button = QPushButton()
        self.after_button = QPushButton()
        self.again_button = QPushButton()
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Diagnosis"))
        self.before_button.setText(self.tr("Previous"))
        self.before_button.setToolTip(self.tr("Previous diagnosis (Alt+Left)"))
        self.after_button.setText(self.tr("Next"))
        self.after_button.setToolTip(self.tr("Next diagnosis (Alt+Right)"))
        # A text takes the key of a button with it.
        click_on_shortcut("diagnosis_before", self.before_button)
        click_on_shortcut("diagnosis_after", self.after_button)
        self.again_button.setText(self.tr("Diagnose"))
        self.again_button.setToolTip(self.tr("Run another diagnosis at the next safe point"))
        for button in (self.before_button, self.after_button, self.again_button):
            button.setAccessibleName(button.text())

    def show_state(self, state: DiagnosisState | None, *, title: str, empty: str) -> None:
        """Show a diagnosis, or the reason why there is none.

        Args:
            state: The diagnosis; None: none yet.
            title: The run's name.
            empty: Text shown if there is no diagnosis.
        """
        if state is None:
            self._diagnosis_state = None
            self.show_heading(title, "", empty)
            set_tone(self._lead, "mute")
            self.show_evidence("", "")
        elif state != self._diagnosis_state:
            self._diagnosis_state = state
            self.show_heading(state.title, state.subtitle, state.summary)
            set_tone(self._lead, "")
            self.redraw()

    def show_progress(self, text: str, *, is_open: bool, can_request: bool) -> None:
        """Show the progress of a requested diagnosis, and enable the button for another one.

        Args:
            text: State of the request; empty: none was requested, or it is done.
            is_open: True while the diagnosis is under way.
            can_request: True if the run takes the command; else the button is hidden.
        """
        self.progress.setText(text)
        self.progress.setVisible(bool(text))
        set_tone(self.progress, "accent" if is_open else "warn")
        self.again_button.setVisible(can_request)
        self.again_button.setEnabled(can_request and not is_open)

    def show_steps(self, *, has_before: bool, has_after: bool) -> None:
        """Show the buttons for the diagnoses before and after, and enable those that exist."""
        for button, is_present in (
            (self.before_button, has_before),
            (self.after_button, has_after),
        ):
            button.setVisible(has_before or has_after)
            button.setEnabled(is_present)

    @override
    def redraw(self) -> None:
        if self._diagnosis_state is not None:
            html = diagnosis_html(self._diagnosis_state, self._theme.palette)
            self.show_evidence(html, self._diagnosis_state.as_text())

    def _build(self) -> None:
        column = self.layout()
        if isinstance(column, QVBoxLayout):
            column.insertWidget(_BELOW_SUBTITLE, self.progress)
        for button in (self.before_button, self.after_button, self.again_button):
            button.setAutoDefault(False)
        self.before_button.clicked.connect(self._on_before_clicked)
        self.after_button.clicked.connect(self._on_after_clicked)
        self.again_button.clicked.connect(self.diagnose_requested)
        for at, part in enumerate((self.before_button, self.after_button)):
            self.bottom.insertWidget(at, part)
        self.bottom.insertWidget(self.bottom.count() - 2, self.again_button)

    @Slot()
    def _on_before_clicked(self) -> None:
        self.step_requested.emit(-1)

    @Slot()
    def _on_after_clicked(self) -> None:
        self.step_requested.emit(1)


def evidence_html(state: EvidenceState, palette: Palette) -> str:
    """The evidence of a verdict, and advice."""
    parts = [_paragraph(line, palette.text) for line in state.lines]
    if state.advice:
        parts.append(_paragraph(tr("Changes to the script that may help:"), palette.sub))
        parts += [_paragraph(f"\u2022 {each}", palette.text) for each in state.advice]
    return "".join(parts)


def record_html(state: RecordState, palette: Palette) -> str:
    """The facts of a record as a table, one per row."""
    rows = "".join(
        f'<tr><td width="30%" style="color: {palette.sub}; padding: 4px 18px 4px 0;">'
        f'{escape(fact.title)}</td><td style="padding: 4px 0;">{_lines(fact.text)}</td></tr>'
        for fact in state.facts
    )
    return f'<table width="100%" cellspacing="0">{rows}</table>'


def diagnosis_html(state: DiagnosisState, palette: Palette) -> str:
    """The evidence of a diagnosis, section by section."""
    parts = [_section(section, palette) for section in state.sections]
    if state.missing:
        parts.append(_paragraph(state.missing, palette.sub))
    return "".join(parts)


def _section(section: DiagnosisSection, palette: Palette) -> str:
    title = (
        f'<p style="margin: 14px 0 2px 0; font-size: {SIZES.control_px}px; font-weight: 600;">'
        f"{escape(section.title)}</p>"
    )
    if not section.rows:
        return title + _paragraph(section.empty, palette.sub)
    head = _row(section.note, section.heads, palette.mute, palette, is_head=True)
    rows = "".join(_data_row(row, palette) for row in section.rows)
    return f'{title}<table width="100%" cellspacing="0">{head}{rows}</table>'


def _data_row(row: DiagnosisRow, palette: Palette) -> str:
    return _row(row.name, row.numbers, palette.warn if row.has_grown else palette.text, palette)


def _row(
    name: str, numbers: Iterable[str], colour: str, palette: Palette, *, is_head: bool = False
) -> str:
    line = f"border-bottom: 1px solid {palette.border}; padding: 3px 0;"
    cells = "".join(
        f'<td align="right" width="92" style="{line} color: {colour};">{escape(number)}</td>'
        for number in numbers
    )
    first = f"color: {colour};" if is_head else ""
    return f'<tr><td style="{line} {first}">{escape(name)}</td>{cells}</tr>'


def _paragraph(text: str, colour: str) -> str:
    return f'<p style="margin: 0 0 6px 0; color: {colour};">{escape(text)}</p>'


def _lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.splitlines())
