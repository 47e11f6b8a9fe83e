"""Chooses what is worth an alert, and where alerts go beside the desktop."""

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from kmonitor.connect.alert_outlet import why_no_command, why_no_webhook
from kmonitor.desktop.controls.look import role_label, set_tone
from kmonitor.presenters.alert_rules import (
    LONGEST_COOL_DOWN_S,
    LONGEST_HOLD_S,
    AlertRule,
    AlertSettings,
    rule_keys,
    rule_name,
    rule_words,
    usual_rule,
)

_SIZE = (640, 620)
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class _Row:
    is_on: QCheckBox
    hold: QSpinBox
    cool_down: QSpinBox

    def rule(self) -> AlertRule:
        return AlertRule(
            is_on=self.is_on.isChecked(),
            hold_s=float(self.hold.value()),
            cool_down_s=self.cool_down.value() * _MINUTE_S,
        )


class AlertsDialog(QDialog):
    """A row for each rule, two fields for what is the user's own.

    Signals (main thread):
        chosen: An `AlertSettings` that is to be in force.
        test_wanted: An `AlertSettings` whose command and webhook are to be tried.
    """

    chosen = Signal(object)
    test_wanted = Signal(object)

    def __init__(self, settings: AlertSettings, way: str, parent: QWidget | None = None) -> None:
        """Not shown yet.

        Args:
            settings: In force now.
            way: How alerts are shown on this desktop, in a sentence.
            parent: The window.
        """
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("guide_page", "alerts.md")
        self.setWindowTitle(self.tr("Alerts"))
        self.resize(*_SIZE)
        self._rows: dict[str, _Row] = {}
        self._command = QLineEdit(settings.command)
        self._webhook = QLineEdit(settings.webhook)
        self._test = QPushButton(self.tr("Send a test"))
        self._why = role_label("body")
        self._dry_run = role_label("sub")
        self._build(settings, way)

    def show_dry_run(self, lines: tuple[str, ...]) -> None:
        """What the selected run's limits would have done so far; nothing without limits."""
        self._dry_run.setText("\n".join(lines))
        self._dry_run.setVisible(bool(lines))

    def tell(self, text: str, *, is_bad: bool) -> None:
        """Say what came of it."""
        self._why.setText(text)
        set_tone(self._why, "crit" if is_bad else "")
        self._why.setVisible(bool(text))

    def settings(self) -> AlertSettings:
        """As it is typed now; rules that are the usual ones are left out."""
        rules = {
            name: rule
            for key in rule_keys()
            for name in [rule_name(*key)]
            for rule in [self._rows[name].rule()]
            if rule != usual_rule(key[0])
        }
        command, webhook = self._command.text().strip(), self._webhook.text().strip()
        return AlertSettings(rules=rules, command=command, webhook=webhook)

    def _build(self, settings: AlertSettings, way: str) -> None:
        lead = role_label("sub")
        lead.setText(way)
        for label in (lead, self._why, self._dry_run):
            label.setWordWrap(True)
        self._why.hide()
        self._dry_run.hide()
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName(self.tr("Rules"))
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(self._rules(settings))
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self._on_buttons_accepted)
        buttons.rejected.connect(self.reject)
        last = QHBoxLayout()
        last.addWidget(self._test)
        last.addStretch(1)
        last.addWidget(buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(lead)
        column.addWidget(scroll, 1)
        column.addWidget(self._dry_run)
        column.addLayout(self._outlets())
        column.addWidget(self._why)
        column.addLayout(last)

    def _outlets(self) -> QFormLayout:
        form = QFormLayout()
        for title, field, hint in (
            (
                self.tr("Command"),
                self._command,
                self.tr("run here for each alert, with JSON at its input; empty: none"),
            ),
            (
                self.tr("Webhook"),
                self._webhook,
                self.tr("https://\u2026 that each alert is posted to as JSON; empty: none"),
            ),
        ):
            field.setPlaceholderText(hint)
            field.setAccessibleName(title)
            field.setMaxLength(4096)
            form.addRow(title, field)
        self._test.setAutoDefault(False)
        self._test.setToolTip(self.tr("Hand a made-up alert to the command and the webhook"))
        self._test.setAccessibleName(self._test.text())
        self._test.clicked.connect(self._on_test_clicked)
        return form

    def _rules(self, settings: AlertSettings) -> QWidget:
        inside = QWidget()
        inside.setObjectName("scrolled")
        grid = QGridLayout(inside)
        grid.setContentsMargins(0, 0, 8, 0)
        grid.setColumnStretch(0, 1)
        heads = (self.tr("Tell me when"), self.tr("once it lasts"), self.tr("at most every"))
        for column, text in enumerate(heads):
            grid.addWidget(role_label("section", text), 0, column)
        for number, key in enumerate(rule_keys(), 1):
            words, rule = rule_words(*key), settings.rule(*key)
            row = _Row(
                QCheckBox(words),
                _amount(int(rule.hold_s), int(LONGEST_HOLD_S), self.tr(" s"), self.tr("at once")),
                _amount(
                    round(rule.cool_down_s / _MINUTE_S),
                    int(LONGEST_COOL_DOWN_S / _MINUTE_S),
                    self.tr(" min"),
                    self.tr("each time"),
                ),
            )
            row.is_on.setChecked(rule.is_on)
            row.hold.setAccessibleName(self.tr("{rule}: once it lasts").format(rule=words))
            row.cool_down.setAccessibleName(self.tr("{rule}: at most every").format(rule=words))
            for box in (row.hold, row.cool_down):
                box.setEnabled(rule.is_on)
                row.is_on.toggled.connect(box.setEnabled)
            for column, widget in enumerate((row.is_on, row.hold, row.cool_down)):
                grid.addWidget(widget, number, column)
            self._rows[rule_name(*key)] = row
        grid.setRowStretch(grid.rowCount(), 1)
        return inside

    def _why_not(self) -> str:
        settings = self.settings()
        return why_no_command(settings.command) or why_no_webhook(settings.webhook)

    @Slot()
    def _on_buttons_accepted(self) -> None:
        why = self._why_not()
        self.tell(why, is_bad=True)
        if not why:
            self.chosen.emit(self.settings())
            self.accept()

    @Slot()
    def _on_test_clicked(self) -> None:
        settings, why = self.settings(), self._why_not()
        if not (why or settings.command or settings.webhook):
            why = self.tr("Write a command or a webhook first.")
        self.tell(why or self.tr("Sent. What fails is said here."), is_bad=bool(why))
        if not why:
            self.test_wanted.emit(settings)


def _amount(value: int, most: int, suffix: str, none: str) -> QSpinBox:
    box = QSpinBox()
    box.setSpecialValueText(none)
    box.setRange(0, most)
    box.setSuffix(suffix)
    box.setValue(value)
    return box
