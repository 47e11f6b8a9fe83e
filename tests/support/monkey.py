"""A user without a plan: clicks, keys, wheel, drags and answers at random, by a seed."""

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QFileDialog,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTableView,
    QTreeView,
    QWidget,
)

from kmonitor.ui.plots.qt.limit_handle import LimitHandle
from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.shell.qt.app import KmonitorApp
from tests.support.charts import Mouse

T = TypeVar("T", bound=QWidget)

_CTRL: Final = Qt.KeyboardModifier.ControlModifier
_SHIFT: Final = Qt.KeyboardModifier.ShiftModifier
_PLAIN: Final = Qt.KeyboardModifier.NoModifier
_LETTERS: Final = "qz7é中 "
"""Letters of which no command and no host is made."""

_KEYS: Final = [
    *(
        (key, _PLAIN)
        for key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right)
    ),
    *((key, _PLAIN) for key in (Qt.Key.Key_Tab, Qt.Key.Key_Space, Qt.Key.Key_Return)),
    *((key, _PLAIN) for key in (Qt.Key.Key_Escape, Qt.Key.Key_Delete, Qt.Key.Key_F1)),
    *((key, _PLAIN) for key in (Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_0, Qt.Key.Key_F2)),
    (Qt.Key.Key_Tab, _SHIFT),
    *((key, _CTRL) for key in (Qt.Key.Key_A, Qt.Key.Key_F, Qt.Key.Key_S, Qt.Key.Key_R)),
    *((key, _CTRL) for key in (Qt.Key.Key_E, Qt.Key.Key_H, Qt.Key.Key_K, Qt.Key.Key_P)),
    *((key, _CTRL) for key in (Qt.Key.Key_U, Qt.Key.Key_C, Qt.Key.Key_Period, Qt.Key.Key_Comma)),
    *((key, _CTRL | _SHIFT) for key in (Qt.Key.Key_H, Qt.Key.Key_A, Qt.Key.Key_E, Qt.Key.Key_C)),
    (Qt.Key.Key_H, _CTRL | _SHIFT),
    (Qt.Key.Key_Home, _CTRL),
    (Qt.Key.Key_End, _CTRL),
]

_LEADS_AWAY: Final = ("demo", "quit", "log file", "browser")
"""Words of controls that start processes or end this one."""


class Monkey:
    """Acts on one app; main thread only.

    Attributes:
        seed: Seed of the user.
        n_actions: Number of actions.
        last: Its last actions, the newest last.
    """

    def __init__(self, app: KmonitorApp, seed: int, folder: Path) -> None:
        """Args: `folder`: where it may write files."""
        self.last: deque[str] = deque(maxlen=20)
        self.seed = seed
        self.n_actions = 0
        self._app = app
        self._folder = folder
        self._random = random.Random(seed)  # noqa: S311 - the same user each time
        self._acts: dict[
            str, tuple[int, Callable[[], tuple[str, Callable[[], object]] | None]]
        ] = {
            "click": (30, self._click),
            "key": (24, self._key),
            "type": (6, self._type),
            "wheel": (8, self._wheel),
            "move": (8, self._move),
            "drag": (6, self._drag),
            "limit": (4, self._limit),
            "row": (8, self._row),
            "resize": (2, self._resize),
            "theme": (1, self._theme),
            "menu": (3, self._context),
        }

    def choose(self) -> tuple[str, str, Callable[[], object]]:
        """The next action: its kind, in words, and the act."""
        while True:
            kind, found = self._kind_and_act()
            if found is not None:
                self.n_actions += 1
                self.last.append(f"{kind}: {found[0]}")
                return kind, *found

    def one_of(self, *choices: T) -> T | None:
        """Any of these; None where there are none."""
        return self._random.choice(choices) if choices else None

    def happens(self, part: float) -> bool:
        """True with this probability, 0..1."""
        return self._random.random() < part

    def _kind_and_act(self) -> tuple[str, tuple[str, Callable[[], object]] | None]:
        popup = QApplication.activePopupWidget()
        if isinstance(popup, QMenu):
            return "menu", self._in_menu(popup)
        if popup is not None:
            return "popup", ("Esc", lambda: QTest.keyClick(popup, Qt.Key.Key_Escape))
        modal = QApplication.activeModalWidget()
        if isinstance(modal, QFileDialog):
            return "file", self._file(modal)
        if isinstance(modal, QDialog) and self.happens(0.3):
            return "dialog", self._leave(modal)
        kinds = list(self._acts)
        kind = self._random.choices(kinds, [self._acts[each][0] for each in kinds])[0]
        return kind, self._acts[kind][1]()

    def _top(self) -> QWidget:
        modal = QApplication.activeModalWidget()
        if modal is not None:
            return modal
        tops = [top for top in QApplication.topLevelWidgets() if top.isVisible()]
        others = [top for top in tops if top is not self._app.window]
        # Windows that stand open are left alone most of the time, and closed some of it.
        return self._random.choice(others) if others and self.happens(0.3) else self._app.window

    def _visible(self, kind: type[T]) -> list[T]:
        return [each for each in self._top().findChildren(kind) if each.isVisible()]

    def _click(self) -> tuple[str, Callable[[], object]] | None:
        top = self._top()
        if top is not self._app.window and self.happens(0.2):
            return f"close {top.windowTitle()}", top.close
        button = self.one_of(*self._visible(QAbstractButton))
        if button is None or any(word in _words(button) for word in _LEADS_AWAY):
            return None
        return _words(button), lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def _key(self) -> tuple[str, Callable[[], object]] | None:
        key, modifiers = self._random.choice(_KEYS)
        target = QApplication.focusWidget() or self._top()
        what = f"{modifiers.name} {key.name} in {_words(target)}"
        return what, lambda: QTest.keyClick(target, key, modifiers)

    def _type(self) -> tuple[str, Callable[[], object]] | None:
        field = self.one_of(*self._visible(QLineEdit), *self._visible(QPlainTextEdit))
        if field is None or isinstance(field.window(), QFileDialog):
            return None
        text = "".join(self._random.choices(_LETTERS, k=3))
        if isinstance(field, QLineEdit) and self.happens(0.5):
            return "clear", field.clear
        return f"{text!r} into {_words(field)}", lambda: _insert(field, text)

    def _wheel(self) -> tuple[str, Callable[[], object]] | None:
        views = [*self._visible(LiveChart), *self._visible(QTableView), *self._visible(QTreeView)]
        view = self.one_of(*views)
        if view is None:
            return None
        target = view if isinstance(view, LiveChart) else view.viewport()
        notches, at = self._random.choice((-3, -1, 1, 3)), self._place(target)
        return f"{notches} on {_words(view)}", lambda: _wheel(target, at, notches)

    def _move(self) -> tuple[str, Callable[[], object]] | None:
        target = self.one_of(*self._visible(LiveChart)) or self._top()
        at = self._place(target)
        return f"{_words(target)} {at.x():g} {at.y():g}", lambda: Mouse(target).move(
            at.x(), at.y()
        )

    def _drag(self) -> tuple[str, Callable[[], object]] | None:
        chart = self.one_of(*self._visible(LiveChart))
        if chart is None:
            return None
        return f"over {_words(chart)}", lambda: self._drag_over(chart)

    def _limit(self) -> tuple[str, Callable[[], object]] | None:
        grip = self.one_of(*self._visible(LimitHandle))
        if grip is None or QApplication.activeModalWidget() is not None:
            return None
        return f"grip of {_words(grip.parentWidget())}", lambda: self._drag_over(grip)

    def _row(self) -> tuple[str, Callable[[], object]] | None:
        view = self.one_of(*self._visible(QTreeView), *self._visible(QTableView))
        if view is None or isinstance(view.window(), QFileDialog):
            return None
        at = self._place(view.viewport()).toPoint()
        keys = self._random.choice((_PLAIN, _PLAIN, _CTRL, _SHIFT))
        left = Qt.MouseButton.LeftButton
        if self.happens(0.2):
            return f"twice on {_words(view)}", lambda: QTest.mouseDClick(
                view.viewport(), left, _PLAIN, at
            )
        return f"{keys.name} {at.y()} of {_words(view)}", lambda: QTest.mouseClick(
            view.viewport(), left, keys, at
        )

    def _resize(self) -> tuple[str, Callable[[], object]] | None:
        width, height = self._random.randint(1000, 1700), self._random.randint(640, 1000)
        return f"{width}x{height}", lambda: self._app.window.resize(width, height)

    def _theme(self) -> tuple[str, Callable[[], object]] | None:
        theme = self._random.choice(("dark", "light", "system"))
        return theme, lambda: self._app.window.header.theme_chosen.emit(theme)

    def _context(self) -> tuple[str, Callable[[], object]] | None:
        target = self.one_of(*self._visible(LiveChart), *self._visible(QTreeView))
        if target is None or QApplication.activeModalWidget() is not None:
            return None
        at = self._place(target).toPoint()
        policy = target.contextMenuPolicy()
        if policy != Qt.ContextMenuPolicy.CustomContextMenu:
            return None
        return f"of {_words(target)}", lambda: target.customContextMenuRequested.emit(at)

    def _in_menu(self, menu: QMenu) -> tuple[str, Callable[[], object]] | None:
        entries = [e for e in menu.actions() if e.isEnabled() and not e.isSeparator()]
        entries = [e for e in entries if not any(w in e.text().casefold() for w in _LEADS_AWAY)]
        if not entries or self.happens(0.3):
            return "Esc", lambda: QTest.keyClick(menu, Qt.Key.Key_Escape)
        entry = self._random.choice(entries)
        at = menu.actionGeometry(entry).center()
        return entry.text(), lambda: QTest.mouseClick(menu, Qt.MouseButton.LeftButton, _PLAIN, at)

    def _file(self, dialog: QFileDialog) -> tuple[str, Callable[[], object]]:
        is_saving = dialog.acceptMode() == QFileDialog.AcceptMode.AcceptSave
        if not is_saving or self.happens(0.6):
            return "no file", dialog.reject
        file = str(self._folder / f"file-{self.n_actions}")
        return file, lambda: _answer(dialog, file)

    def _leave(self, dialog: QDialog) -> tuple[str, Callable[[], object]]:
        if self.happens(0.5):
            return f"reject {dialog.windowTitle()}", dialog.reject
        return f"Enter in {dialog.windowTitle()}", lambda: QTest.keyClick(
            dialog, Qt.Key.Key_Return
        )

    def _place(self, target: QWidget) -> QPointF:
        width, height = max(target.width(), 1), max(target.height(), 1)
        return QPointF(self._random.randrange(width), self._random.randrange(height))

    def _drag_over(self, target: QWidget) -> None:
        mouse, start, end = Mouse(target), self._place(target), self._place(target)
        if isinstance(target, LimitHandle):
            end = QPointF(start.x(), start.y() + self._random.randint(-60, 60))
        mouse.press(start.x(), start.y())
        for part in (0.3, 0.7, 1.0):
            at = start + (end - start) * part
            mouse.move(at.x(), at.y())
        mouse.release(end.x(), end.y())


def _words(widget: QWidget | None) -> str:
    if widget is None:
        return ""
    name = widget.accessibleName() or widget.windowTitle() or type(widget).__name__
    return name.casefold()


def _insert(field: QLineEdit | QPlainTextEdit, text: str) -> None:
    if isinstance(field, QLineEdit):
        field.insert(text)
    else:
        field.insertPlainText(text)


def _answer(dialog: QFileDialog, file: str) -> None:
    # It would ask back in its own loop, in which no one answers.
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
    dialog.selectFile(file)
    dialog.accept()


def _wheel(target: QWidget, at: QPointF, notches: int) -> None:
    event = QWheelEvent(
        at,
        QPointF(target.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        _PLAIN,
        Qt.ScrollPhase.NoScrollPhase,
        False,  # noqa: FBT003 - not inverted; takes no keyword
    )
    QApplication.sendEvent(target, event)
