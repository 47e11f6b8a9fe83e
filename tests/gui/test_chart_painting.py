"""Painting of charts, and when they paint at all."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QSizeF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from typing_extensions import override

from kmonitor.ui.plots.chart_state import (
    ChartState,
    CrosshairCard,
    CurveState,
    FlagState,
    GapState,
    LimitLineState,
)
from kmonitor.ui.plots.qt import chart_view, overlay
from kmonitor.ui.plots.qt.chart_view import ChartView, RunCurve, drawable
from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.plots.qt.overlay import end_points, placed_flags
from kmonitor.ui.plots.qt.scene import ChartColours, Scene, frame_rect, limit_y, scene_for
from kmonitor.ui.theme.palettes import DARK, LIGHT
from tests.support.charts import GIB, curve, has_colour, has_line, image_of, picture, shown_chart

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("qapp")]

LIMIT = LimitLineState(72 * GIB, "limit 72 GiB")
PLOT_YS = range(30, 250)


class PaintCounter(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def scene(shown: ChartState, width: float = 480.0, height: float = 280.0) -> Scene:
    return scene_for(shown, QSizeF(width, height), ChartColours())


def column_of(shown: ChartState, x: float) -> int:
    return round(scene(shown).frame.x_px(x))


def test_line_is_drawn_where_there_are_values(qtbot: QtBot):
    shown = picture()
    image = image_of(shown_chart(qtbot, shown))

    assert has_colour(image, DARK.series[0], column_of(shown, 15.0), PLOT_YS)


def test_nothing_is_drawn_from_nothing_in_a_gap(qtbot: QtBot):
    nan = float("nan")
    shown = picture(curve("b", (10.0, 20.0, nan, 40.0, 50.0), selected=False))
    image = image_of(shown_chart(qtbot, shown))

    for x in (12.0, 20.0, 28.0):
        assert not has_line(image, DARK.card, column_of(shown, x), PLOT_YS)
    for x in (5.0, 35.0):
        assert has_line(image, DARK.card, column_of(shown, x), PLOT_YS)


def test_gradient_stops_at_a_gap_too(qtbot: QtBot):
    nan = float("nan")
    shown = picture(curve("b", (50.0, 50.0, nan, 50.0, 50.0)))
    image = image_of(shown_chart(qtbot, shown))
    row = 120

    filled = image.pixelColor(column_of(shown, 5.0), row)
    empty = image.pixelColor(column_of(shown, 20.0), row)
    assert filled.blue() > empty.blue() + 8


def test_dense_line_is_filled_up_to_its_lower_rim_with_its_gap_left_out(qtbot: QtBot):
    x = np.linspace(0.0, 40.0, 2_000)
    y = np.where(np.arange(2_000) % 2 == 0, 40.0 * GIB, 50.0 * GIB)
    y[900:1_100] = np.nan
    shown = picture(CurveState("a", "a", 0, x, y, selected=True))
    image = image_of(shown_chart(qtbot, shown))
    row = round(scene(shown).frame.y_px(38.0 * GIB))

    filled = image.pixelColor(column_of(shown, 5.0), row)
    assert filled.blue() > image.pixelColor(column_of(shown, 20.0), row).blue() + 5


def test_single_point_has_a_dot(qtbot: QtBot):
    one = CurveState("a", "a", 0, np.array([20.0]), np.array([GIB]), selected=True)
    shown = picture(one)
    image = image_of(shown_chart(qtbot, shown))

    assert has_colour(image, DARK.series[0], column_of(shown, 20.0), PLOT_YS, within=20)


def test_run_of_a_lost_host_is_grey(qtbot: QtBot):
    shown = picture(curve(stale=True))
    image = image_of(shown_chart(qtbot, shown))

    assert not has_colour(image, DARK.series[0], column_of(shown, 15.0), PLOT_YS, within=40)
    assert has_colour(image, DARK.mute, column_of(shown, 15.0), PLOT_YS)


def test_empty_chart_says_why(qtbot: QtBot):
    silent = image_of(shown_chart(qtbot, ChartState("bytes", "epochs", (0.0, 1.0))))
    told = image_of(
        shown_chart(qtbot, ChartState("bytes", "epochs", (0.0, 1.0), empty_text="No data yet"))
    )

    assert told != silent


def test_no_grid_line_strikes_the_reason_of_an_empty_chart_through(qtbot: QtBot):
    for height in (200, 240, 280):
        chart = shown_chart(qtbot, replace(picture(), curves=(), empty_text="no NVIDIA driver"))
        chart.resize(480, height)
        chart.repaint()
        said, silent = image_of(chart), scene(chart.scene.chart_state, 480.0, float(height))
        middle = frame_rect(silent.frame).center()
        for y in range(round(middle.y()) - 6, round(middle.y()) + 6):
            # A grid line is a row without any of the card's own colour.
            across = range(round(middle.x()) - 40, round(middle.x()) + 40)
            assert any(said.pixelColor(x, y) == QColor(DARK.card) for x in across)


def test_a_limit_near_zero_leaves_the_axis_its_numbers():
    many = tuple(FlagState(x=float(x), text="reload", tooltip="") for x in range(51))
    shown = replace(
        picture(limit=LimitLineState(0.5 * GIB, "limit 0.5 GiB", "pending")), flags=many
    )
    crowded = scene(shown, 220.0, 110.0)
    places = [place for _, place in placed_flags(crowded)]

    box = overlay.limit_label_box(crowded, places, 90.0, [])

    assert box is not None
    assert box.bottom() <= crowded.frame.bottom


def test_a_limits_words_that_would_lie_over_dot_and_flags_are_left_to_card_and_grip():
    flags = tuple(FlagState(x=x, text="reload", tooltip="") for x in (3.0, 8.0, 16.0))
    for look, is_said in (("offered", False), ("in_force", False), ("pending", True)):
        held = LimitLineState(56 * GIB, "drag to set a limit", look, is_draggable=True)  # type: ignore[arg-type]
        crowded = scene(replace(picture(limit=held), flags=flags), 260.0, 150.0)
        places = [place for _, place in placed_flags(crowded)]
        box = overlay.limit_label_box(crowded, places, 110.0, end_points(crowded))
        assert (box is not None) == is_said


def test_a_name_gives_way_to_the_dot_of_another_run():
    short = curve("b", (30.0, 49.0), selected=False, hue=1)
    longer = replace(curve(), x=curve().x * 0.275)
    crowded = scene(picture(longer, short, x_range=(0.0, 24.0)))
    (name,) = overlay.placed_names(crowded, end_points(crowded))
    (dot,) = (end for end in end_points(crowded) if end.curve.selected)

    assert name.left < dot.x < name.left + name.width
    assert abs(name.y - dot.y) >= 11.0
    assert name.room >= name.width


def test_empty_chart_shows_no_numbers_from_nothing(qtbot: QtBot):
    image = image_of(shown_chart(qtbot, ChartState("bytes", "epochs", (0.0, 1.0))))

    left_of_plot = range(16)
    assert not any(has_line(image, DARK.card, x, range(240)) for x in left_of_plot)


def test_same_picture_again_paints_nothing(qtbot: QtBot):
    shown = picture(limit=LIMIT)
    chart = shown_chart(qtbot, shown)
    view = chart.findChild(ChartView)
    assert view is not None
    paints = PaintCounter(view.viewport())
    chart.set_state(shown)
    QApplication.processEvents()
    assert paints.count == 0
    chart.set_state(replace(shown, title="RAM"))
    QApplication.processEvents()
    assert paints.count == 0
    chart.set_state(picture(limit=LIMIT))
    QApplication.processEvents()
    QApplication.processEvents()

    # Not twice either: the scene's own report of its changes comes after the paint.
    assert paints.count == 1


def test_unchanged_curve_keeps_its_path(qtbot: QtBot):
    kept = curve()
    chart = shown_chart(qtbot, picture(kept, limit=LIMIT))
    view = chart.findChild(ChartView)
    assert view is not None
    (drawn,) = [item for item in view.scene().items() if isinstance(item, RunCurve)]
    path = drawn.getPath()
    chart.set_state(picture(kept, limit=LIMIT, flags=(FlagState(10.0, "reload"),)))

    assert drawn.getPath() is path


def test_theme_changes_every_colour(qtbot: QtBot):
    chart = shown_chart(qtbot, picture(limit=LIMIT))
    dark = image_of(chart)
    chart.set_theme(ChartColours(LIGHT, family="Inter"))
    light = image_of(chart)

    assert dark.pixelColor(300, 4).name() == DARK.card
    assert light.pixelColor(300, 4).name() == LIGHT.card


def test_crosshair_does_not_paint_the_curves_again(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch):
    chart = shown_chart(qtbot, picture())
    painted: list[object] = []
    monkeypatch.setattr(chart_view, "paint_backdrop", lambda *_: painted.append(1))
    chart.set_crosshair(20.0, CrosshairCard("epoch 20"))
    QApplication.processEvents()
    assert painted == []
    chart.set_state(picture(x_range=(0.0, 50.0)))
    QApplication.processEvents()

    assert painted == [1]


def test_runs_come_and_go(qtbot: QtBot):
    chart = shown_chart(qtbot, picture())
    one = image_of(chart)
    chart.set_state(picture(curve(), curve("b", (5.0, 6.0, 7.0), selected=False, hue=1)))
    assert image_of(chart) != one
    chart.set_state(picture())

    assert image_of(chart) == one


@pytest.mark.parametrize("points", [5, 400])
def test_second_run_of_a_hue_is_dashed(qtbot: QtBot, points: int):
    x, y = np.linspace(0.0, 40.0, points), np.full(points, 30.0 * GIB)
    solid = picture(CurveState("a", "a", 0, x, y))
    dashed = picture(CurveState("a", "a", 0, x, y, dashed=True))
    dotted = picture(CurveState("a", "a", 0, x, y, dotted=True))
    columns = [column_of(solid, 5.0 + i * 0.1) for i in range(200)]

    def drawn(shown: ChartState) -> int:
        image = image_of(shown_chart(qtbot, shown))
        rows = range(10, 250)
        return sum(has_line(image, DARK.card, x, rows) for x in columns)

    assert 0 < drawn(dashed) < 0.8 * drawn(solid)
    assert 0 < drawn(dotted) < 0.8 * drawn(dashed)


def test_everything_at_once_in_every_size(qtbot: QtBot):
    many = tuple(curve(str(i), tuple(range(i, i + 5)), selected=i == 0, hue=i) for i in range(40))
    flags = tuple(FlagState(x / 3, "reload", ok=x % 2 == 0) for x in range(90))
    everything = ChartState(
        "bytes",
        "epochs",
        (0.0, 40.0),
        many,
        limit=LimitLineState(30 * GIB, "a limit with a very long label " * 4),
        flags=flags,
        epoch_marks=np.arange(0.0, 40.0, 0.01),
        gaps=(GapState(5.0, 9.0), GapState(-9.0, -8.0)),
    )
    chart = shown_chart(qtbot, everything)
    for size in ((160, 100), (380, 240), (1600, 900)):
        chart.resize(*size)
        assert not image_of(chart).isNull()


def test_limit_line_has_air_above_for_label_and_flags():
    shown = scene(picture(limit=LIMIT))

    assert shown.frame.y_px(72 * GIB) - shown.frame.top >= 26.0 - 0.5


def test_limit_far_beyond_the_range_stays_in_sight_at_the_top(qtbot: QtBot):
    far = ChartState(
        "bytes", "epochs", (0.0, 40.0), (curve(),), y_range=(0.0, 60 * GIB), limit=LIMIT
    )
    near = replace(far, limit=replace(LIMIT, value=60 * GIB))

    assert limit_y(scene(far)) == scene(far).frame.top
    # An arrow says that it lies higher.
    assert image_of(shown_chart(qtbot, far)) != image_of(shown_chart(qtbot, near))


def test_range_set_by_the_presenter_is_kept():
    wanted = ChartState("bytes", "epochs", (0.0, 40.0), (curve(),), y_range=(0.0, 99 * GIB))

    assert scene(wanted).frame.y_hi == 99 * GIB


def test_names_at_the_lines_ends_get_room_beside_the_range():
    alone = scene(picture())
    named = scene(picture(curve(), curve("b", selected=False)))

    assert named.frame.x_hi > alone.frame.x_hi
    assert named.frame.data_width < alone.frame.data_width


def test_end_behind_the_shown_range_is_not_the_newest_point():
    ends = end_points(scene(picture(x_range=(0.0, 25.0))))

    assert [end.is_newest for end in ends] == [False]


def test_curve_that_is_out_of_sight_has_no_end():
    assert end_points(scene(picture(x_range=(100.0, 125.0)))) == []
    assert end_points(scene(picture(x_range=(-20.0, -5.0)))) == []


def test_empty_range_still_has_a_scale():
    assert scene(picture(x_range=(3.0, 3.0))).frame.x_hi > 3.0


def test_limit_moves_only_where_there_is_one():
    bare = picture()

    assert bare.with_limit_value(1.0, "x") is bare


def test_gap_becomes_a_broken_connection_without_a_value_that_is_not_finite():
    x, y = np.arange(5.0), np.array([1.0, np.nan, 3.0, 4.0, np.nan])
    _, safe, connect = drawable(x, y)

    assert np.isfinite(safe).all()
    assert connect is not None
    assert connect[:4].tolist() == [False, False, True, False]


def test_chart_that_is_closed_is_gone(qtbot: QtBot):
    chart = LiveChart()
    chart.set_state(picture(limit=LIMIT))
    chart.show()
    QApplication.processEvents()
    view = weakref.ref(chart.findChild(ChartView))
    chart.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    del chart
    gc.collect()

    assert view() is None


def test_width_to_thin_to_follows_the_size(qtbot: QtBot):
    chart = shown_chart(qtbot, picture())
    narrow = chart.plot_width_px()
    with qtbot.waitSignal(chart.resized):
        chart.resize(900, 280)

    assert chart.plot_width_px() == pytest.approx(narrow + 420, abs=3)
    assert chart.sizeHint().isValid()
