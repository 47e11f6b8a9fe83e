"""Settings: how the window looks, speaks, counts, and how often it draws."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.settings.qt.setting_row import SettingRow
from kmonitor.ui.settings.setting_values import Pace, pace_titles, pace_words
from kmonitor.ui.widgets.segments import Segments


class GeneralSettings(QWidget):
    """Each choice is in force at once.

    Signals (main thread):
        theme_chosen: "system", "dark" or "light".
        language_chosen: As the language's name stands in the settings.
        units_chosen: "binary" or "decimal".
        pace_chosen: A `Pace`.
        alerts_requested: The rules of alerts are wanted.
    """

    theme_chosen = Signal(str)
    language_chosen = Signal(str)
    units_chosen = Signal(str)
    pace_chosen = Signal(str)
    alerts_requested = Signal()

    def __init__(self, languages: Mapping[str, str], parent: QWidget | None = None) -> None:
        """With nothing chosen yet.

        Args:
            languages: What each language is called in itself, by its name in the settings.
            parent: Its parent.
        """
        super().__init__(parent)
        self._languages = dict(languages)
        self._theme = Segments(self._themes(), "")
        self._language = Segments({"system": "", **languages}, "")
        self._units = Segments(self._unit_titles(), "")
        self._pace = Segments({**pace_titles()}, "")
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
        language = {"system": self.tr("As the system"), **self._languages}
        for row, choice, titles, title in (
            (self._theme_row, self._theme, self._themes(), self.tr("Theme")),
            (self._language_row, self._language, language, self.tr("Language")),
            (self._units_row, self._units, self._unit_titles(), self.tr("Sizes")),
            (self._pace_row, self._pace, {**pace_titles()}, self.tr("Charts move")),
        ):
            row.call(title)
            choice.rename(titles, title)
        self._units_row.explain(
            self.tr(
                "1 GiB is 1 073 741 824 bytes, 1 GB is 1 000 000 000. Everywhere in the "
                "window; the command line and what trainings print keep to MiB and GiB."
            )
        )
        self._alerts.setText(self.tr("Alerts\u2026"))
        self._alerts.setAccessibleName(self._alerts.text())
        self._alerts.setToolTip(self.tr("What you want to be told, and how (Ctrl+L)"))
        self._alerts_row.call(self.tr("Alerts and limits"))
        self._alerts_row.explain(
            self.tr(
                "What is worth a notification. What is done at a limit is chosen per run, "
                "beside the charts, and is the same for the next run until it is changed."
            )
        )

    def show_choices(self, *, theme: str, language: str, units: str, pace: Pace) -> None:
        """Show what is in force."""
        self._theme.choose(theme)
        self._language.choose(language)
        self._units.choose(units)
        self._pace.choose(pace)
        self._pace_row.explain(pace_words(pace))

    def _themes(self) -> dict[str, str]:
        system = self.tr("As the system")
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
