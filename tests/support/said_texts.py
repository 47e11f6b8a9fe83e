"""Every text that a window says: to the eye, under the pointer, and to a screen reader."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Final

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QTextEdit,
    QWidget,
)

from kmonitor.ui.plots.qt.live_chart import LiveChart

_ROLES: Final = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
)
_ASKED: Final = (
    *("text", "windowTitle", "title", "toolTip", "statusTip", "placeholderText"),
    *("accessibleName", "accessibleDescription", "labelText", "informativeText"),
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z']+")


def said_by_all() -> dict[str, str]:
    """Texts of every widget there is, hidden or not, by where they were found."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    found: dict[str, str] = {}
    for top in app.topLevelWidgets():
        if top.parent() is None or top.isWindow():
            for widget in (top, *top.findChildren(QWidget)):
                if _speaks(widget):
                    name = f"{_path(widget)}"
                    for key, text in _said_by(widget):
                        found[f"{name}.{key}"] = text
    return {place: text for place, text in found.items() if text.strip()}


def english_in(text: str, known: frozenset[str]) -> list[str]:
    """Words of a text that are English and not among those that stay in any language."""
    return [word for word in _WORD.findall(text) if word.casefold() not in known]


def _speaks(widget: QWidget) -> bool:
    # The inside of a file dialog is Qt's.
    parent: QWidget | None = widget
    while parent is not None:
        parent = parent.parentWidget()
        if isinstance(parent, QFileDialog):
            return False
    return True


def _path(widget: QWidget) -> str:
    parts: list[str] = []
    each: QWidget | None = widget
    while each is not None:
        parent = each.parentWidget()
        alike = [c for c in parent.children() if type(c) is type(each)] if parent else [each]
        at = alike.index(each)
        parts.append(f"{type(each).__name__}[{at}]")
        each = parent
    return "/".join(reversed(parts))


def _said_by(widget: QWidget) -> Iterator[tuple[str, str]]:
    is_typed = isinstance(widget, QLineEdit | QSpinBox | QPlainTextEdit)
    for name in _ASKED:
        ask = getattr(widget, name, None)
        if callable(ask) and not (is_typed and name == "text"):
            yield name, str(ask())
    for at, action in enumerate(widget.actions()):
        yield f"action{at}", f"{action.text()} {action.toolTip()}"
    yield from _said_inside(widget)


def _said_inside(widget: QWidget) -> Iterator[tuple[str, str]]:
    match widget:
        case QSpinBox():
            yield "box", f"{widget.suffix()} {widget.specialValueText()}"
        case QTextEdit():
            yield "page", widget.toPlainText()
        case QComboBox():
            yield from ((f"item{at}", widget.itemText(at)) for at in range(widget.count()))
        case QAbstractItemView() if widget.model() is not None:
            yield from _said_by_model(widget.model())
        case LiveChart():
            said = [*_strings(widget.chart_state), *_strings(widget.crosshair.card)]
            yield from ((f"chart{at}", text) for at, text in enumerate(said))
        case _:
            pass


def _said_by_model(model: QAbstractItemModel) -> Iterator[tuple[str, str]]:
    for column in range(_columns(model, QModelIndex())):
        for role in _ROLES:
            head = model.headerData(column, Qt.Orientation.Horizontal, role)
            yield f"head{column}.{role.name}", str(head or "")
    yield from _said_by_rows(model, QModelIndex(), "")


def _said_by_rows(
    model: QAbstractItemModel, parent: QModelIndex, before: str
) -> Iterator[tuple[str, str]]:
    for row in range(model.rowCount(parent)):
        for column in range(_columns(model, parent)):
            index = model.index(row, column, parent)
            for role in _ROLES:
                yield f"cell{before}.{row}.{column}.{role.name}", str(index.data(role) or "")
        yield from _said_by_rows(model, model.index(row, 0, parent), f"{before}.{row}")


def _columns(model: QAbstractItemModel, parent: QModelIndex) -> int:
    # Qt makes the count of a list private.
    return 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case tuple() | list():
            for each in value:
                yield from _strings(each)
        case _ if is_dataclass(value) and not isinstance(value, type):
            for field in fields(value):
                if field.name not in {"unit", "x_kind", "run", "style"}:
                    yield from _strings(getattr(value, field.name))
        case _:
            pass
