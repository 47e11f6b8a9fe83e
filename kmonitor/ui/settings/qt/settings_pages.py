"""Pages of the settings: general, history, hosts, keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.hosts.hosts import HostLine
from kmonitor.ui.settings.hub_settings import HubKeysState, KeyRow, StorageState
from kmonitor.ui.settings.setting_values import (
    FieldValue,
    Pace,
    days_text,
    pace_text,
    pace_titles,
    parse_days_field,
    parse_size_field,
    size_text,
)
from kmonitor.ui.theme.qt.theme import role_label, set_tone
from kmonitor.ui.widgets.buttons import SegmentedControl
from kmonitor.ui.widgets.labels import ElidedLabel


class SettingRow(QFrame):
    """Title and control in one line, texts below."""

    def __init__(self, controls: Sequence[QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = role_label("strong_small")
        self._explanation = role_label("sub")
        self._explanation.hide()
        self._why = role_label("body")
        set_tone(self._why, "crit")
        self._why.hide()
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._title, 1)
        for control in controls:
            line.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(line)
        for label in (self._why, self._explanation):
            label.setWordWrap(True)
            column.addWidget(label)

    def call(self, title: str) -> None:
        self._title.setText(title)

    def explain(self, text: str) -> None:
        self._explanation.setText(text)
        self._explanation.setVisible(bool(text))

    def refuse(self, why: str) -> None:
        """Show why the input is invalid; empty: it is valid."""
        self._why.setText(why)
        self._why.setVisible(bool(why))


@dataclass(frozen=True, slots=True)
class CardButton:
    """A button of a card.

    Attributes:
        title: Text on the button.
        tooltip: Effect of the button.
        name: The effect with the subject of the card, for a screen reader.
        act: Called when the button is pressed.
    """

    title: str
    tooltip: str
    name: str
    act: Callable[[], object]


def text_card(labels: Iterable[QWidget], buttons: Iterable[CardButton]) -> QFrame:
    """A card with lines of text, and buttons beside them."""
    card = QFrame()
    card.setObjectName("card")
    text_column = QVBoxLayout()
    text_column.setSpacing(1)
    for label in labels:
        text_column.addWidget(label)
    row = QHBoxLayout(card)
    row.setContentsMargins(12, 8, 8, 8)
    row.setSpacing(6)
    row.addLayout(text_column, 1)
    for each in buttons:
        button = QPushButton(each.title)
        button.setProperty("kind", "filter")
        button.setToolTip(each.tooltip)
        button.setAccessibleName(each.name)
        button.setAutoDefault(False)
        button.clicked.connect(_without_check(each.act))
        row.addWidget(button)
    return card


def _without_check(act: Callable[[], object]) -> Callable[[object], None]:
    """Drop the checked state that a button's signal passes."""

    def pressed(checked: object = None) -> None:
        del checked
        act()

    return pressed


class CardColumn(QVBoxLayout):
    """A column of cards, which it owns; main thread only."""

    def __init__(self) -> None:
        super().__init__()
        self._cards: list[QWidget] = []

    def show_cards(self, cards: Iterable[QWidget]) -> None:
        for card in self._cards:
            self.removeWidget(card)
            card.hide()
            card.deleteLater()
        self._cards = list(cards)
        for card in self._cards:
            self.addWidget(card)


class GeneralPage(QWidget):
    """Theme, language, units and refresh rate; each choice applies at once.

    Args:
        languages: Name of each language in that language, by its name in the settings.

    Signals (main thread):
        theme_chosen: "system", "dark" or "light".
        language_chosen: Name of the language in the settings.
        units_chosen: "binary" or "decimal".
        pace_chosen: A `Pace`.
        alerts_requested: The dialog of alert rules should open.
    """

    theme_chosen = Signal(str)
    language_chosen = Signal(str)
    units_chosen = Signal(str)
    pace_chosen = Signal(str)
    alerts_requested = Signal()

    def __init__(self, languages: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._languages = dict(languages)
        self._theme = SegmentedControl(self._themes(), "")
        self._language = SegmentedControl({"system": "", **languages}, "")
        self._units = SegmentedControl(self._unit_titles(), "")
        self._pace = SegmentedControl({**pace_titles()}, "")
        self._alerts = QPushButton()
        self._theme_row = SettingRow([self._theme])
        self._language_row = SettingRow([self._language])
        self._language_row.setVisible(bool(languages))
        self._units_row = SettingRow([self._units])
        self._pace_row = SettingRow([self._pace])
        self._alerts_row = SettingRow([self._alerts])
        self._build()
        self._set_texts()
        self._theme.chosen.connect(self.theme_chosen)
        self._language.chosen.connect(self.language_chosen)
        self._units.chosen.connect(self.units_chosen)
        self._pace.chosen.connect(self.pace_chosen)
        self._alerts.clicked.connect(self.alerts_requested)

    def _set_texts(self) -> None:
        language = {"system": self.tr("System"), **self._languages}
        for row, choice, titles, title in (
            (self._theme_row, self._theme, self._themes(), self.tr("Theme")),
            (self._language_row, self._language, language, self.tr("Language")),
            (self._units_row, self._units, self._unit_titles(), self.tr("Units")),
            (self._pace_row, self._pace, {**pace_titles()}, self.tr("Chart updates")),
        ):
            row.call(title)
            choice.rename(titles, title)
        self._units_row.explain(
            self.tr(
                "1 GiB is 1,073,741,824 bytes, and 1 GB is 1,000,000,000. Applies to the window; "
                "the command line and the training callback always use MiB and GiB."
            )
        )
        self._alerts.setText(self.tr("Alerts\u2026"))
        self._alerts.setAccessibleName(self._alerts.text())
        self._alerts.setToolTip(self.tr("Configure alerts (Ctrl+L)"))
        self._alerts_row.call(self.tr("Alerts and limits"))
        self._alerts_row.explain(
            self.tr(
                "Choose which events you are notified about. What happens when a limit is "
                "exceeded is set per run, beside the charts, and carries over to the next run."
            )
        )

    def show_choices(self, *, theme: str, language: str, units: str, pace: Pace) -> None:
        self._theme.choose(theme)
        self._language.choose(language)
        self._units.choose(units)
        self._pace.choose(pace)
        self._pace_row.explain(pace_text(pace))

    def _themes(self) -> dict[str, str]:
        system = self.tr("System")
        return {"system": system, "dark": self.tr("Dark"), "light": self.tr("Light")}

    def _unit_titles(self) -> dict[str, str]:
        return {"binary": self.tr("MiB, GiB"), "decimal": self.tr("MB, GB")}

    def _build(self) -> None:
        self._alerts.setAutoDefault(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(20)
        for row in (
            *(self._theme_row, self._language_row, self._units_row),
            *(self._pace_row, self._alerts_row),
        ):
            column.addWidget(row)
        column.addStretch(1)


_FIELD_PX = 150


class HistoryPage(QWidget):
    """Bounds on the history of this machine's hub; each may be empty.

    Signals (main thread):
        keep_requested: Days and bytes, 0 for no bound; both are valid.
    """

    keep_requested = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = ("", "")
        self._in_force = (0.0, 0.0)
        self._handed_on: tuple[float, float] | None = None
        self._stored = role_label("body")
        self._fixed = role_label("body")
        self._trouble = role_label("body")
        self.days = QLineEdit()
        self._size = QLineEdit()
        self._notes = role_label("sub")
        self._days_row = SettingRow([self.days])
        self._size_row = SettingRow([self._size])
        self._build()
        self._set_texts()
        for field in (self.days, self._size):
            field.editingFinished.connect(self._on_field_editing_finished)
            field.textEdited.connect(self._on_field_text_edited)

    def _set_texts(self) -> None:
        self._days_row.call(self.tr("Days"))
        self._days_row.explain(
            self.tr("Runs that ended more than this many days ago are removed.")
        )
        self._size_row.call(self.tr("Size"))
        self._size_row.explain(
            self.tr("While the history is larger than this, runs are removed, oldest first.")
        )
        self.days.setAccessibleName(self.tr("Days of history"))
        self._size.setAccessibleName(self.tr("Size of the history"))
        for field in (self.days, self._size):
            field.setPlaceholderText(self.tr("all"))
        self.days.setToolTip(self.tr("Number of days; leave empty to keep all runs"))
        self._size.setToolTip(self.tr("For example, 20 GiB; leave empty for no limit"))
        self._notes.setText(
            self.tr(
                "Pinned and live runs are always kept, and so are checkpoints. Changes take"
                " effect within seconds on this machine's hub."
            )
        )
        self._check()

    def show_keep(self, days: float, n_bytes: int) -> None:
        """Show the bounds in force, unless the user is editing them."""
        self._in_force = (days, float(n_bytes))
        shown = (days_text(days), size_text(n_bytes))
        if shown != self._shown:
            self._shown = shown
            self.revert()

    def show_stored(self, state: StorageState) -> None:
        self._stored.setText(state.text)
        self._fixed.setText(state.fixed)
        self._fixed.setVisible(bool(state.fixed))

    def refuse(self, why: str) -> None:
        """Show why the bounds could not be saved; empty: they were saved."""
        self._handed_on = None
        self._trouble.setText(why)
        self._trouble.setVisible(bool(why))

    def revert(self) -> None:
        """Show the bounds in force again."""
        self._handed_on = None
        self.days.setText(self._shown[0])
        self._size.setText(self._shown[1])
        self._check()

    def _build(self) -> None:
        for field in (self.days, self._size):
            field.setFixedWidth(_FIELD_PX)
            field.setMaxLength(40)
        set_tone(self._fixed, "warn")
        set_tone(self._trouble, "crit")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        for label in (self._stored, self._fixed, self._trouble, self._notes):
            label.setWordWrap(True)
        column.addWidget(self._stored)
        column.addWidget(self._fixed)
        column.addWidget(self._days_row)
        column.addWidget(self._size_row)
        column.addWidget(self._trouble)
        column.addWidget(self._notes)
        column.addStretch(1)
        self._fixed.hide()
        self._trouble.hide()

    def _check(self) -> tuple[FieldValue, FieldValue]:
        days = parse_days_field(self.days.text())
        size = parse_size_field(self._size.text())
        self._days_row.refuse(days.why_not)
        self._size_row.refuse(size.why_not)
        return days, size

    @Slot(str)
    def _on_field_text_edited(self, text: str) -> None:
        del text
        self._handed_on = None
        self._check()

    @Slot()
    def _on_field_editing_finished(self) -> None:
        if (self.days.text(), self._size.text()) == self._shown:
            return
        days, size = self._check()
        if days.value is None or size.value is None:
            return
        typed = (days.value, size.value)
        if typed == self._in_force:
            self.revert()
        elif typed != self._handed_on:
            # The question that this opens takes the focus, which ends the same editing once more.
            self._handed_on = typed
            self.keep_requested.emit(*typed)


class HostsPage(QWidget):
    """The remembered hosts, in the order in which they were added.

    Signals (main thread):
        retry_requested: Address of a host to retry at once.
        rename_requested: Address of a host to rename.
        removal_requested: Address of a host to remove.
        connect_requested: The dialog that connects to a host should open.
    """

    retry_requested = Signal(str)
    rename_requested = Signal(str)
    removal_requested = Signal(str)
    connect_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[HostLine, ...] | None = None
        self._text = role_label("sub")
        self._connect = QPushButton()
        self._column = CardColumn()
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._text.setText(
            self.tr(
                "No other machines are saved. Any host that you can reach with ssh NAME works "
                "here."
            )
        )
        self._connect.setText(self.tr("Connect to a host\u2026"))
        self._connect.setAccessibleName(self._connect.text())
        self._connect.setToolTip(self.tr("Show the runs on another machine, over ssh (Ctrl+H)"))
        self._make_rows()

    def show_lines(self, lines: Sequence[HostLine]) -> None:
        if tuple(lines) == self._lines:
            return
        self._lines = tuple(lines)
        self._make_rows()

    def _make_rows(self) -> None:
        lines = self._lines or ()
        self._column.show_cards(map(self._row, lines))
        self._text.setVisible(not lines)

    def _build(self) -> None:
        self._text.setWordWrap(True)
        self._connect.setAutoDefault(False)
        self._connect.clicked.connect(self.connect_requested)
        self._column.setSpacing(8)
        last = QHBoxLayout()
        last.addWidget(self._connect)
        last.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(self._text)
        column.addLayout(self._column)
        column.addLayout(last)
        column.addStretch(1)

    def _row(self, line: HostLine) -> QWidget:
        state = role_label("meta", line.state)
        state.setWordWrap(True)
        set_tone(state, line.tone)
        labels = (ElidedLabel("strong_small", line.name), ElidedLabel("sub", line.address), state)
        retry = (self.tr("Connect"), self.tr("Connect now"), self.retry_requested)
        kinds = (
            *([retry] if line.can_retry else []),
            (
                self.tr("Rename\u2026"),
                self.tr("Rename it in this window"),
                self.rename_requested,
            ),
            (
                self.tr("Remove\u2026"),
                self.tr("Remove this host; nothing changes on the host itself"),
                self.removal_requested,
            ),
        )
        return text_card(
            labels,
            [
                CardButton(title, tip, f"{title} {line.name}", partial(wanted.emit, line.key))
                for title, tip, wanted in kinds
            ],
        )


class KeysPage(QWidget):
    """This device's key above, the authorized keys of this machine's hub below.

    Signals (main thread):
        own_key_requested: The own key should be shown, and created if there is none.
        revoke_requested: Key and name of the device to revoke.
    """

    own_key_requested = Signal()
    revoke_requested = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keys_state: HubKeysState | None = None
        self._own = role_label("snippet_small")
        self._show = QPushButton()
        self._copy = QPushButton()
        self._own_head = role_label("strong_small")
        self._own_key_note = role_label("sub")
        self._others_head = role_label("strong_small")
        self._why = role_label("body")
        self._text = role_label("sub")
        self._trouble = role_label("body")
        self._column = CardColumn()
        self._build()
        self._set_texts()
        self._show.clicked.connect(self.own_key_requested)
        self._copy.clicked.connect(self._on_copy_clicked)

    def _set_texts(self) -> None:
        self._own_head.setText(self.tr("This machine"))
        self._own_key_note.setText(
            self.tr(
                "Give this public key to the owner of a hub on the network, who authorizes it"
                " with kmonitor authorize. The private key never leaves this machine."
            )
        )
        self._others_head.setText(self.tr("Authorized keys"))
        self._own.setAccessibleName(self.tr("This machine's key"))
        self._text.setAccessibleName(self.tr("Where the hub listens"))
        self._copy.setText(self.tr("Copy"))
        self._copy.setToolTip(self.tr("Copy the key to the clipboard"))
        self._show.setText(self.tr("Show this machine's key"))
        self._show.setToolTip(
            self.tr("Creates the key if there is none; the private key stays here")
        )
        for button in (self._copy, self._show):
            button.setAccessibleName(button.text())
        self._show_rows(self._keys_state.rows if self._keys_state is not None else ())

    def show_own(self, key: str, why_not: str = "") -> None:
        """Show the own key, or the reason why there is none."""
        self._own.setText(key)
        self._own.setVisible(bool(key))
        self._copy.setVisible(bool(key))
        self._show.setVisible(not key)
        self._why.setText(why_not)
        self._why.setVisible(bool(why_not))

    def show_state(self, state: HubKeysState) -> None:
        if state == self._keys_state:
            return
        self._keys_state = state
        self._text.setText(state.text)
        self._text.setVisible(bool(state.text))
        self._trouble.setText(state.trouble)
        self._trouble.setVisible(bool(state.trouble))
        self._show_rows(state.rows)

    def _build(self) -> None:
        for label in (self._text, self._trouble, self._why, self._own, self._own_key_note):
            label.setWordWrap(True)
        for label in (self._trouble, self._why):
            set_tone(label, "crit")
            label.hide()
        selectable = (
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        for label in (self._own, self._text):
            label.setTextInteractionFlags(selectable)
        for button in (self._copy, self._show):
            button.setAutoDefault(False)
        self._own.hide()
        self._copy.hide()
        own = QHBoxLayout()
        own.addWidget(self._own, 1)
        own.addWidget(self._show)
        own.addWidget(self._copy)
        own.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self._own_head)
        column.addWidget(self._own_key_note)
        column.addLayout(own)
        column.addWidget(self._why)
        column.addSpacing(10)
        column.addWidget(self._others_head)
        column.addWidget(self._text)
        column.addWidget(self._trouble)
        column.addLayout(self._column)
        column.addStretch(1)

    def _show_rows(self, rows: Sequence[KeyRow]) -> None:
        self._column.show_cards(map(self._row, rows))

    def _row(self, key: KeyRow) -> QWidget:
        labels = (
            ElidedLabel("strong_small", key.name),
            role_label("sub", f"{key.role} \u00b7 {key.since}"),
        )
        revoke = CardButton(
            self.tr("Revoke\u2026"),
            self.tr("Revoke its access"),
            self.tr("Revoke {name}").format(name=key.name),
            partial(self.revoke_requested.emit, key.key, key.name),
        )
        return text_card(labels, [revoke])

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._own.text())
        self._copy.setText(self.tr("Copied"))
