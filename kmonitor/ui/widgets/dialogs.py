"""Asks what something is to be called."""

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog, QLineEdit, QWidget

_WIDTH = 440


@dataclass(frozen=True, slots=True)
class NameWords:
    """What the dialog says.

    Attributes:
        title: Above it.
        label: What is asked, beside the field.
        name: Of the field.
    """

    title: str
    label: str
    name: str


class NameDialog(QInputDialog):
    """A field of one line; gone when it is closed, `textValueSelected` fires on yes."""

    def __init__(
        self,
        words: NameWords,
        value: str,
        parent: QWidget,
        *,
        most_letters: int | None = None,
    ) -> None:
        """Ask nothing before `open`.

        Args:
            words: What it says.
            value: What the field begins with.
            parent: The window above which it stands.
            most_letters: How long a name may be; None: as long as it likes.
        """
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setTextValue(value)
        self.setWindowTitle(words.title)
        self.setLabelText(words.label)
        for field in self.findChildren(QLineEdit):
            field.setAccessibleName(words.name)
            if most_letters is not None:
                field.setMaxLength(most_letters)
            field.selectAll()
        self.resize(_WIDTH, self.sizeHint().height())
