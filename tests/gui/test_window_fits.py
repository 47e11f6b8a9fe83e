"""Each text is whole, or shortened with an ellipsis and shown whole by its tooltip."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, QSizeF, Qt
from PySide6.QtGui import QHelpEvent, QTextTable
from PySide6.QtWidgets import QApplication, QLabel, QToolTip, QWidget

from kmonitor.ui.actions.qt.action_button import ActionButton
from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.plots.chart_state import (
    CrosshairCard,
    CrosshairRow,
    FlagState,
    LimitLineState,
)
from kmonitor.ui.plots.qt.overlay import end_points
from kmonitor.ui.plots.qt.scene import GRIP_WIDTH_PX, ChartColours, scene_for
from kmonitor.ui.shell.qt.header_view import Chip, HeaderPanel
from kmonitor.ui.theme.palettes import DARK, LIGHT
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor_agent.wire.messages.unions import MetricReading
from tests.support.charts import GIB, curve, has_colour, image_of, picture, shown_chart
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import ACTIONS, limit, made_up_run
from tests.support.made_up_verdicts import LEAK

pytestmark = WINDOW

SMALL, USUAL, LARGE = (1000, 640), (1280, 800), (1920, 1080)
LONG = "resnet50-imagenet-finetune-cosine-warmup5-wd1e-4-mixup0.2-cutmix1.0-seed-1337-attempt-3"
CPU = MetricReading(value=866 * 1024.0, source="tensorflow allocator, CPU:0 in use (all tensors)")


@pytest.fixture(params=[SMALL, USUAL, LARGE], ids=str)
def window(request: pytest.FixtureRequest) -> Iterator[DeskWindow]:
    made = DeskWindow(size=request.param)
    yield made
    made.close()


@pytest.fixture
def small() -> Iterator[DeskWindow]:
    made = DeskWindow(size=SMALL)
    yield made
    made.close()


def tell(window: DeskWindow, **changed: Any) -> None:
    window.connect()
    window.tell_runs(made_up_run(**changed))


def visible_labels(window: DeskWindow) -> list[QLabel]:
    labels = window.window.findChildren(QLabel)
    return [w for w in labels if w.isVisible() and w.text() and not w.wordWrap()]


@pytest.mark.parametrize(
    "changed",
    [
        {"vram": CPU, "limits": [limit("graph", 8000.0, action="collect")]},
        {"name": LONG, "host": LONG, "fit": 12, "fits_done": 11, "gaps": 3, "limits": [limit()]},
        {"state": "silent", "vram": CPU, "name": LONG},
        {"state": "paused", "limits": [limit(value=1.0), limit("vram", 1.0)]},
    ],
)
def test_no_text_is_cut_off_without_an_ellipsis(window: DeskWindow, changed: dict[str, Any]):
    tell(window, **changed)

    for label in visible_labels(window):
        shown = label.shown_text() if isinstance(label, ElidedLabel) else label.text()
        lines = shown.splitlines()
        width = max((label.fontMetrics().horizontalAdvance(each) for each in lines), default=0)
        assert width <= label.width() + 1, label.text()
        if isinstance(label, ElidedLabel) and shown != label.text():
            assert "\u2026" in shown or not shown
            assert label.full_tooltip().startswith(label.text())


@pytest.mark.parametrize("action", ["notify", "collect"])
def test_the_allocators_title_gives_way_and_its_tooltip_is_whole(small: DeskWindow, action: str):
    crowded = limit("vram", 123456 * 1024.0, action=action)
    tell(small, vram=CPU, limits=[crowded])
    titles = small.window.cards["vram"].findChildren(ElidedLabel)
    title = next(label for label in titles if label.text() == "Framework allocator (CPU)")

    QApplication.sendEvent(
        title,
        QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(5, 5), title.mapToGlobal(QPoint(5, 5))),
    )

    assert title.shown_text().endswith("\u2026")
    assert QToolTip.text() == f"Framework allocator (CPU)\n{CPU.source}"
    QToolTip.hideText()


def test_a_small_card_says_title_and_rate_in_full_beside_its_button(small: DeskWindow):
    tell(small, vram=CPU)

    for card in small.window.cards.values():
        labels = card.findChildren(ElidedLabel)
        whole = [label for label in labels if label.property("role") in ("name", "strong_small")]
        assert len(whole) == 2
        for label in whole:
            assert label.shown_text() == label.text()


def test_a_card_that_grows_names_its_button_again(small: DeskWindow):
    tell(small)
    button = small.window.cards["ram"].set_limit_button
    assert button.text() == ""
    assert not button.icon().isNull()
    assert button.accessibleName()

    small.window.resize(*USUAL)
    small.settle()

    assert button.text() == "Set a limit"
    assert button.icon().isNull()


def test_the_title_takes_the_room_that_the_chips_leave(small: DeskWindow):
    tell(small)
    header = small.window.findChild(HeaderPanel)
    assert isinstance(header, HeaderPanel)

    assert header.title.shown_text() == "resnet50-imagenet"


def test_a_long_title_leaves_the_state_and_changing_numbers_leave_it_alone(window: DeskWindow):
    tell(window, name=LONG)
    header = window.window.findChild(HeaderPanel)
    assert isinstance(header, HeaderPanel)
    chips = header.chips
    assert chips.isVisible()
    assert chips.width_within(chips.width()) > 80
    left = chips.x()

    window.tell_runs(made_up_run(name=LONG, step=7, change=2))

    middle = chips.parentWidget()
    assert isinstance(middle, QWidget)
    assert chips.x() == left or header.title.width() > 0.3 * middle.width()


def test_a_low_window_shows_without_scrolling_what_happens_at_the_limit():
    made = DeskWindow(size=(1280, 760))
    try:
        tell(made, actions=[*ACTIONS, "restart", "auto", "diagnose"], limits=[limit()])
        sentence = made.window.actions_panel.at_limit.outcome
        view = made.window.actions_panel.scroll_area.viewport()

        assert sentence.text()
        assert sentence.mapTo(view, QPoint(0, sentence.height())).y() <= view.height()
        heights: list[int] = []
        for height in (600, 760):
            made.window.setMinimumSize(900, 600)
            made.window.resize(1280, height)
            for tab in ("events", "reclaims"):
                made.window.records.show_tab(tab)
                heights.append(made.window.records.height())
        # On a very small screen a table takes no height from the charts.
        assert heights[0] == heights[1] == heights[2] < heights[3]
    finally:
        made.close()


@pytest.mark.parametrize("state", ["starting", "training"])
def test_a_shortcut_never_touches_its_buttons_title(small: DeskWindow, state: str):
    nothing = MetricReading()
    many = {} if state == "training" else dict.fromkeys(("ram", "vram", "graph"), nothing)
    tell(small, state=state, **many)
    for button in small.window.findChildren(ActionButton):
        hint = button.hint
        # Icon, its gap and the padding stand left of the text.
        end = 34 + button.fontMetrics().horizontalAdvance(button.text())
        assert not hint.isVisible() or hint.x() + hint.width() - end >= (
            hint.fontMetrics().horizontalAdvance(hint.text()) + 6
        )


def test_a_small_crosshair_card_keeps_its_numbers(qtbot: Any):
    chart = shown_chart(qtbot, picture())
    chart.resize(220, 110)
    name = "w" * 60
    lines = (CrosshairRow(0, name, 20 * GIB, "20.0 GiB"),)
    chart.set_crosshair(20.0, CrosshairCard("epoch 21", lines))

    scene = chart.scene
    box = chart.crosshair.card_box(scene, scene.frame.x_px(20.0))

    assert box.left() >= 0.0
    assert box.right() <= 220.0


def test_the_grip_stands_beside_the_newest_dot():
    held = LimitLineState(51 * GIB, "limit 51 GiB", "in_force", is_draggable=True)
    for width in (180.0, 480.0):
        scene = scene_for(picture(limit=held), QSizeF(width, 120.0), ChartColours())
        (end,) = end_points(scene)
        assert end.x + 4.0 <= scene.frame.right - GRIP_WIDTH_PX


def test_a_name_that_would_be_dots_only_is_left_to_the_crosshair(qtbot: Any):
    other = replace(curve("b", (10.0, 11.0, 12.0, 13.0, 14.0), selected=False, hue=1), label=LONG)
    held = LimitLineState(14 * GIB, "drag", "offered", is_draggable=True)
    # So narrow that beside the grip there is room for an ellipsis and little more.
    chart = shown_chart(qtbot, picture(curve(), other, limit=held))
    chart.resize(200, 110)
    chart.repaint()
    image = image_of(chart)
    ends = [end for end in end_points(chart.scene) if end.curve.run == "b"]

    beside = int(ends[0].x) + 8
    rows = range(int(ends[0].y) - 6, int(ends[0].y) + 7)
    assert not any(has_colour(image, DARK.series[1], beside + dx, rows) for dx in range(8))


def test_flags_without_room_for_a_label_stand_back(qtbot: Any):
    flags = tuple(FlagState(x, "reload", "", ok=True) for x in np.arange(5.0, 35.0, 1.0))
    chart = shown_chart(qtbot, picture(flags=flags))
    image = image_of(chart)
    frame = chart.scene.frame

    rows = range(int(frame.top) + 30, int(frame.top) + 40)
    strong = [f for f in flags if has_colour(image, DARK.accent, int(frame.x_px(f.x)), rows)]
    assert 0 < len(strong) < len(flags) / 2


def test_the_guide_has_air_around_headings_and_lets_the_page_have_the_focus(small: DeskWindow):
    tell(small)
    small.controller.help.open_guide()
    guide = small.window.findChild(GuideWindow)
    assert isinstance(guide, GuideWindow)
    block, headings = guide.reader.document().begin(), 0
    while block.isValid():
        form = block.blockFormat()
        if form.headingLevel() > 1:
            headings += 1
            assert form.topMargin() >= 12.0
        assert form.bottomMargin() > 0.0
        block = block.next()

    assert headings
    assert guide.focusWidget() is guide.reader
    assert guide.reader.focusPolicy() & Qt.FocusPolicy.TabFocus
    guide.close()


def test_the_guide_follows_the_theme_and_is_no_bolder_than_its_typeface(small: DeskWindow):
    tell(small)
    small.controller.help.open_guide()
    guide = small.window.findChild(GuideWindow)
    assert isinstance(guide, GuideWindow)
    guide.open_page("limits-and-actions.md")
    document = guide.reader.document()

    for palette in (DARK, LIGHT):
        small.use_theme(palette.name)
        tables = [f for f in document.rootFrame().childFrames() if isinstance(f, QTextTable)]
        assert tables
        for table in tables:
            assert table.format().borderBrush().color().name() == palette.border
    html = document.toHtml()
    assert "font-weight:600" in html
    assert "font-weight:700" not in html
    guide.close()


def test_a_hub_that_cannot_start_is_not_called_starting(small: DeskWindow):
    small.desk.link.trouble("The disk is full.")
    small.settle()
    texts = [label.text() for label in visible_labels(small)]
    texts += [w.text() for w in small.window.run_tree.findChildren(QLabel)]

    assert "The hub cannot start" in texts
    assert "Starting the hub\u2026" not in texts
    assert "Connecting to the hub\u2026" not in texts


def test_a_card_of_a_narrow_screen_cuts_no_number():
    window = DeskWindow(size=(820, 760))
    tell(window, step_time=MetricReading(value=958e-6), vram=CPU)
    window.tell_events(
        structs.replace(LEAK, metric="step_time", state="measuring", units=4, slope=None)
    )

    shown = [w for card in window.window.cards.values() for w in card.findChildren(QLabel)]
    for label in [w for w in shown if w.isVisible() and not isinstance(w, ElidedLabel)]:
        assert label.width() >= label.sizeHint().width(), label.text()
    window.close()


def test_a_card_of_a_narrow_screen_cuts_neither_rate_nor_when_a_limit_is_met():
    window = DeskWindow(size=(820, 760))
    main = window.window
    main.setMinimumSize(1, 1)
    main.resize(820, 760)
    tell(window)
    window.tell_events(LEAK)

    labels = main.cards["ram"].findChildren(ElidedLabel)
    rate = next(each for each in labels if each.text().startswith("\u25b2 "))
    forecast = next(each for each in labels if each.text().startswith("limit in about"))
    assert rate.shown_text() == rate.text()
    assert forecast.shown_text() == "limit in 10\u201321 epochs"
    assert forecast.full_tooltip().startswith("limit in about 14 epochs (10 to 21)")
    window.close()


@pytest.mark.parametrize(
    ("width", "words"),
    [(820, "limit in 10\u201321 epochs"), (1920, "limit in about 14 epochs (10 to 21)")],
)
def test_the_header_shortens_the_forecast_before_it_gives_way(width: int, words: str):
    window = DeskWindow(size=(width, 760))
    try:
        tell(window, limits=[limit("ram", 80 * GIB)], actions=ACTIONS, duration_s=3650.0)
        window.tell_events(LEAK)
        window.settle()

        chips = [each for each in window.window.header.findChildren(Chip) if each.isVisible()]
        shown = {chip.accessibleName(): chip.findChildren(QLabel)[1].text() for chip in chips}
        told = next(name for name in shown if name.startswith("limit in about 14"))
        assert shown[told].startswith(words)
        assert "Training" in shown
    finally:
        window.close()
