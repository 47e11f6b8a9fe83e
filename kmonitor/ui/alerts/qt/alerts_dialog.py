"""Dialog that selects which events raise alerts, and where alerts go besides the desktop."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from kmonitor.alerts.delivery import invalid_command_reason, invalid_webhook_reason
from kmonitor.alerts.rules import (
    LONGEST_COOLDOWN_S,
    LONGEST_HOLD_S,
    AlertRule,
    AlertSettings,
    RuleKey,
    default_rule,
    rule_keys,
    rule_name,
)
from kmonitor.ui.alerts.alert_text import rule_title
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.theme.qt.theme import role_label, set_tone

_SIZE = (640, 620)
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class _Row:
    key: RuleKey
    is_on: QCheckBox
    hold: QSpinBox
    cooldown: QSpinBox

    def rule(self) -> AlertRule:
        return AlertRule(
            is_on=self.is_on.isChecked(),
            hold_s=float(self.hold.value()),
            cooldown_s=self.cooldown.value() * _MINUTE_S,
        )


@dataclass(frozen=True, slots=True)
class AlertsText:
    """Texts in the dialog that other modules provide, in the language in force.

    Attributes:
        delivery: One sentence about how this desktop shows alerts.
        dry_run: Estimate of what the selected run's limits would have done so far; empty without
            limits.
    """

    delivery: Callable[[], str]
    dry_run: Callable[[], tuple[str, ...]]


class AlertsDialog(QDialog):
    """One row for each rule, and two fields for the user's command and webhook.

    Signals (main thread):
        chosen: With the `AlertSettings` to apply.
        test_requested: With the `AlertSettings` whose command and webhook should be tested.
    """

    chosen = Signal(object)
    test_requested = Signal(object)

    def __init__(
        self,
        settings: AlertSettings,
        text: AlertsText,
        parent: QWidget | None = None,
    ) -> None:
        """Args: `text`: Texts about this desktop and the selected run."""
        super().__init__(parent)
        self._settings = settings
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("guide_page", "alerts.md")
        self.resize(*_SIZE)
        self._alerts_text = text
        self._rows: dict[str, _Row] = {}
        self._command = QLineEdit(settings.command)
        self._webhook = QLineEdit(settings.webhook)
        self._test = QPushButton()
        self._lead = role_label("sub")
        self._heads = [role_label("section") for _ in range(3)]
        self._scroll = QScrollArea()
        self._form = QFormLayout()
        self.why = role_label("body")
        self._is_trouble = False
        self.dry_run = role_label("sub")
        self._build(settings)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Alerts"))
        self._lead.setText(self._alerts_text.delivery())
        lines = self._alerts_text.dry_run()
        self.dry_run.setText("\n".join(lines))
        self.dry_run.setVisible(bool(lines))
        self._scroll.setAccessibleName(self.tr("Rules"))
        heads = (self.tr("Notify when"), self.tr("After"), self.tr("At most every"))
        for label, text in zip(self._heads, heads, strict=True):
            label.setText(text)
        for row in self._rows.values():
            self._set_row_texts(row)
        self._set_field_texts(
            self._command,
            self.tr("Command"),
            self.tr("runs for each alert, with JSON on standard input; leave empty for none"),
        )
        self._set_field_texts(
            self._webhook,
            self.tr("Webhook"),
            self.tr(
                "https://\u2026 URL for Slack, Mattermost, ntfy or any other service that"
                " accepts JSON; leave empty for none"
            ),
        )
        self._test.setText(self.tr("Send a test"))
        self._test.setToolTip(self.tr("Send a sample alert to the command and the webhook"))
        self._test.setAccessibleName(self._test.text())
        self.show_outcome("", is_bad=False)

    def show_outcome(self, text: str, *, is_bad: bool) -> None:
        self._is_trouble = is_bad and bool(text)
        self.why.setText(text)
        set_tone(self.why, "crit" if is_bad else "")
        self.why.setVisible(bool(text))

    def add_trouble(self, text: str) -> None:
        """Append a failure to those shown before: both command and webhook may fail."""
        shown = self.why.text().splitlines() if self._is_trouble else []
        if text not in shown:
            self.show_outcome("\n".join([*shown, text]), is_bad=True)

    def settings(self) -> AlertSettings:
        """Settings as currently entered; rules that have their default are left out."""
        rules = {
            name: rule
            for key in rule_keys()
            for name in [rule_name(*key)]
            for rule in [self._rows[name].rule()]
            if rule != default_rule(key[0])
        }
        command = self._command.text().strip()
        webhook = self._webhook.text().strip()
        form = self._settings.form if webhook == self._settings.webhook else "auto"
        return AlertSettings(rules=rules, command=command, webhook=webhook, form=form)

    def _build(self, settings: AlertSettings) -> None:
        for label in (self._lead, self.why, self.dry_run):
            label.setWordWrap(True)
        scroll = self._scroll
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
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
        column.addWidget(self._lead)
        column.addWidget(scroll, 1)
        column.addWidget(self.dry_run)
        self._build_delivery_fields()
        column.addLayout(self._form)
        column.addWidget(self.why)
        column.addLayout(last)

    def _build_delivery_fields(self) -> None:
        for field in (self._command, self._webhook):
            field.setMaxLength(4096)
            # Qt's own label, which is aligned with its field.
            self._form.addRow(" ", field)
        self._test.setAutoDefault(False)
        self._test.clicked.connect(self._on_test_clicked)

    def _rules(self, settings: AlertSettings) -> QWidget:
        inside = QWidget()
        inside.setObjectName("scrolled")
        grid = QGridLayout(inside)
        grid.setContentsMargins(0, 0, 8, 0)
        grid.setColumnStretch(0, 1)
        for column, head in enumerate(self._heads):
            grid.addWidget(head, 0, column)
        for number, key in enumerate(rule_keys(), 1):
            rule = settings.rule(*key)
            row = _Row(
                key,
                QCheckBox(),
                _amount(int(rule.hold_s), int(LONGEST_HOLD_S)),
                _amount(round(rule.cooldown_s / _MINUTE_S), int(LONGEST_COOLDOWN_S / _MINUTE_S)),
            )
            row.is_on.setChecked(rule.is_on)
            for box in (row.hold, row.cooldown):
                box.setEnabled(rule.is_on)
                row.is_on.toggled.connect(box.setEnabled)
            for column, widget in enumerate((row.is_on, row.hold, row.cooldown)):
                grid.addWidget(widget, number, column)
            self._rows[rule_name(*key)] = row
        grid.setRowStretch(grid.rowCount(), 1)
        return inside

    def _set_row_texts(self, row: _Row) -> None:
        title = rule_title(*row.key)
        row.is_on.setText(title)
        row.hold.setSuffix(f" {self.tr('s')}")
        row.hold.setSpecialValueText(self.tr("immediately"))
        row.hold.setAccessibleName(self.tr("{rule}: after").format(rule=title))
        row.cooldown.setSuffix(f" {self.tr('min')}")
        row.cooldown.setSpecialValueText(self.tr("every time"))
        row.cooldown.setAccessibleName(self.tr("{rule}: at most every").format(rule=title))

    def _set_field_texts(self, field: QLineEdit, title: str, hint: str) -> None:
        label = self._form.labelForField(field)
        if isinstance(label, QLabel):
            label.setText(title)
        field.setPlaceholderText(hint)
        field.setAccessibleName(title)

    def _why_not(self) -> str:
        settings = self.settings()
        return translated_text(
            invalid_command_reason(settings.command) or invalid_webhook_reason(settings.webhook)
        )

    @Slot()
    def _on_buttons_accepted(self) -> None:
        why = self._why_not()
        self.show_outcome(why, is_bad=True)
        if not why:
            self.chosen.emit(self.settings())
            self.accept()

    @Slot()
    def _on_test_clicked(self) -> None:
        settings = self.settings()
        why = self._why_not()
        if not (why or settings.command or settings.webhook):
            why = self.tr("Enter a command or a webhook first.")
        self.show_outcome(why or self.tr("Sent. Any errors will appear here."), is_bad=bool(why))
        if not why:
            self.test_requested.emit(settings)


def _amount(value: int, most: int) -> QSpinBox:
    box = QSpinBox()
    box.setRange(0, most)
    box.setValue(value)
    return box
