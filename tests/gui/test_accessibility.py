"""Accessibility for screen readers and keyboards: names, descriptions, the order of the Tab key,
the ring.

Controls are found by walking what is shown in each scene of `tests/support/scenes.py`; a new panel
is covered as soon as a scene shows it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QScrollArea, QWidget

from kmonitor.ui.plots.qt.live_chart import LiveChart
from tests.support.desk_window import WINDOW
from tests.support.scenes import SCENES
from tests.support.stage import Stage

pytestmark = WINDOW

QUICK = (
    "live",
    "first_start",
    "app_failed",
    "reclaims",
    "history",
    "compare",
    "verdict_sheet",
    "alerts",
    "connect_dialog",
    "guide",
)
SCENES_TO_WALK = [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in SCENES
]
CONTROLS = {
    QAccessible.Role.Button,
    QAccessible.Role.ButtonMenu,
    QAccessible.Role.ButtonDropDown,
    QAccessible.Role.CheckBox,
    QAccessible.Role.RadioButton,
    QAccessible.Role.ComboBox,
    QAccessible.Role.SpinBox,
    QAccessible.Role.Slider,
    QAccessible.Role.EditableText,
    QAccessible.Role.List,
    QAccessible.Role.Table,
    QAccessible.Role.Tree,
    QAccessible.Role.MenuItem,
    QAccessible.Role.PageTab,
}
MOST_STOPS = 120
RING = 4
"""Around a control, pixels: so far may its ring reach."""


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage(theme="dark")
    yield made
    made.close()


@dataclass(frozen=True, slots=True)
class Said:
    """Text that a screen reader says for a control."""

    role: QAccessible.Role
    name: str
    description: str
    is_focusable: bool


def said(widget: QWidget) -> Said | None:
    """Text of a screen reader for a widget; None: there can be none."""
    # Queried for each widget again: the children of an interface outlive their widgets in Python.
    one = QAccessible.queryAccessibleInterface(widget)
    if one is None or not one.isValid():
        return None
    texts = QAccessible.Text
    focusable = bool(one.state().focusable)
    return Said(one.role(), one.text(texts.Name), one.text(texts.Description), focusable)


def controls(top: QWidget) -> list[tuple[QWidget, Said]]:
    """All controls of a window that can be seen, with their texts."""
    found: list[tuple[QWidget, Said]] = []
    for widget in (top, *top.findChildren(QWidget)):
        # Cells are read through their table.
        if not widget.isVisible() or widget.window() is not top.window():
            continue
        words = said(widget)
        if words is not None and words.role in CONTROLS:
            found.append((widget, words))
    return found


def stops(top: QWidget) -> list[QWidget]:
    """Controls that the Tab key is to reach."""
    policy = Qt.FocusPolicy.TabFocus
    return [
        each
        for each in top.findChildren(QWidget)
        if each.isVisible()
        and each.isEnabled()
        and each.window() is top.window()
        and each.focusPolicy() & policy == policy
        and each.focusProxy() is None
    ]


def tabbed(top: QWidget) -> list[QWidget]:
    """Widgets that the Tab key reaches, in its order, until it comes back to where it began."""
    top.activateWindow()
    QApplication.processEvents()
    found: list[QWidget] = []
    for _ in range(MOST_STOPS):
        QTest.keyClick(QApplication.focusWidget() or top, Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        # Within a page the key goes from link to link.
        if focused is None or (found and focused is found[-1]):
            continue
        if found and focused is found[0]:
            return found
        if focused not in found:
            found.append(focused)
    if len(found) == 1:
        return found
    pytest.fail(f"Tab does not come back: {[each.accessibleName() for each in found]}")


def around(widget: QWidget) -> QImage:
    """A control and what is drawn around it."""
    top = widget.window()
    place = QRect(widget.mapTo(top, QPoint(0, 0)), widget.size())
    return top.grab(place.adjusted(-RING, -RING, RING, RING)).toImage()


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES_TO_WALK)
def test_everything_is_named_reached_by_tab_and_shows_that_it_has_the_focus(
    stage: Stage, scene: str
) -> None:
    top = SCENES[scene](stage)
    found = controls(top)
    assert [repr(widget) for widget, words in found if not words.name] == []
    same = Counter((widget.parent(), words) for widget, words in found if words.is_focusable)
    assert [each for each, n in same.items() if n > 1] == []
    if isinstance(top, QMenu):
        return

    reached = tabbed(top)
    missed = [each.accessibleName() or repr(each) for each in stops(top) if each not in reached]
    assert missed == []
    assert ringless(reached) == []


def ringless(reached: list[QWidget]) -> list[str]:
    """Controls that look the same with the focus as without it."""
    found: list[str] = []
    for each in reached:
        each.setFocus(Qt.FocusReason.TabFocusReason)
        scroll_to(each)
        QApplication.processEvents()
        focused = around(each)
        each.clearFocus()
        QApplication.processEvents()
        if around(each) == focused:
            found.append(each.accessibleName() or repr(each))
    return found


def scroll_to(widget: QWidget) -> None:
    """As the Tab key does."""
    parent = widget.parentWidget()
    while parent is not None and not isinstance(parent, QScrollArea):
        parent = parent.parentWidget()
    if isinstance(parent, QScrollArea):
        parent.ensureWidgetVisible(widget)


def test_a_chart_is_described_by_value_rate_and_forecast(stage: Stage) -> None:
    stage.judged()
    charts = {each.accessibleName(): each for each in stage.window.findChildren(LiveChart)}
    told = charts["RAM"].accessibleDescription().replace("\u202f", " ")

    assert all(each.accessibleDescription() for each in charts.values())
    assert "73.4 GiB" in told
    assert "/ epoch" in told
    assert "limit in about 4 epochs (3 to 5)" in told
