"""The card of the memory map's page that asks "what if"."""

from typing import Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.memory.map_controls import ControlsPicture
from kmonitor.ui.memory.qt.named_slider import NamedSlider
from kmonitor.ui.theme.qt.theme import Look, role_label
from kmonitor.ui.widgets.buttons import MenuButton

_MENUS: Final = ("optimizer", "precision", "backend", "limit")


class MapControls(QFrame):
    """Sliders and menus.

    Signals (main thread):
        batch_moved: With the number of a step of the batch slider.
        size_moved: With the number of an input size.
        menu_chosen: "optimizer", "precision", "backend" or "limit", and the key chosen.
        reset_requested: The training as it is, is wanted again.
    """

    batch_moved = Signal(int)
    size_moved = Signal(int)
    menu_chosen = Signal(str, str)
    reset_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._title = role_label("name")
        self._reset = QPushButton()
        self._reset.setProperty("kind", "small")
        self._batch = NamedSlider()
        self._size = NamedSlider()
        self._size_why = role_label("meta")
        self._size_why.setWordWrap(True)
        self._picture: ControlsPicture | None = None
        self._menus = {key: MenuButton(look, "", {"": ""}) for key in _MENUS}
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._title.setText(self.tr("What if"))
        self._reset.setText(self.tr("As trained"))
        self._reset.setAccessibleName(self._reset.text())
        self._reset.setToolTip(self.tr("Ask about the training as it is again"))
        self._batch.call(self.tr("Batch"), self.tr("Examples a step"))
        for key, title in self._titles().items():
            menu = self._menus[key]
            menu.rename(title, {})

    def show_picture(self, picture: ControlsPicture | None) -> None:
        """Offer these; None: there is nothing to ask about."""
        self.setVisible(picture is not None)
        if picture is None:
            return
        self._picture = picture
        self._batch.show_step(picture.batches, picture.batch)
        has_sizes = len(picture.sizes) > 1
        self._size.setVisible(has_sizes)
        self._size.call(picture.size_title, picture.size_title)
        self._size.show_step(picture.sizes, picture.size)
        self._size_why.setVisible(bool(picture.size_why) and not has_sizes)
        self._size_why.setText(f"{picture.size_title}: {picture.size_why}")
        self._reset.setVisible(picture.can_reset)
        for key, title in self._titles().items():
            menu = self._menus[key]
            menu.show_choices(title, picture.menus[key], picture.chosen[key])

    def _titles(self) -> dict[str, str]:
        return {
            "optimizer": self.tr("Optimizer"),
            "precision": self.tr("Precision"),
            "backend": self.tr("Backend"),
            "limit": self.tr("Device"),
        }

    def _build(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._reset)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 9, 12, 11)
        column.setSpacing(8)
        column.addLayout(head)
        for part in (self._batch, self._size, self._size_why):
            column.addWidget(part)
        for key, menu in self._menus.items():
            menu.setProperty("for", key)
            menu.chosen.connect(self._on_menu_chosen)
            column.addWidget(menu)
        self._batch.moved.connect(self.batch_moved)
        self._size.moved.connect(self.size_moved)
        self._reset.clicked.connect(self._on_reset_clicked)

    @Slot(str)
    def _on_menu_chosen(self, key: str) -> None:
        self.menu_chosen.emit(str(self.sender().property("for")), key)

    @Slot()
    def _on_reset_clicked(self) -> None:
        self.reset_requested.emit()
        self._batch.slider.setFocus()
