from dataclasses import replace

import numpy as np
import pytest

from kmonitor.ui.plots.chart_state import (
    ChartState,
    CurveState,
    FlagState,
    ForecastState,
    GapState,
    LimitLineState,
)
from kmonitor.ui.report.chart_svg import CHART_SIZE, chart_svg, text_width
from kmonitor.ui.report.style import DrawingColours, page_variables
from kmonitor.ui.theme.palettes import DARK
from tests.support.drawings import Drawing

GIB = 2.0**30

NAN = float("nan")


def curve(*values: float, **changed: object) -> CurveState:
    x = np.arange(len(values), dtype=float)
    y = np.array(values) * GIB
    picture = CurveState("run", "resnet", 0, x, y, selected=True)
    return replace(picture, **changed)  # pyright: ignore[reportArgumentType]


def picture(*curves: CurveState, **more: object) -> ChartState:
    chart = ChartState("bytes", "epochs", (0.0, 10.0), curves, title="RAM")
    return replace(chart, **more)  # pyright: ignore[reportArgumentType]


def drawn(chart: ChartState, ink: DrawingColours | None = None) -> Drawing:
    return Drawing.of(chart_svg(chart, ink or DrawingColours(), about="RAM, 3 GiB"))


def test_a_gap_breaks_the_line_and_says_why():
    gap = GapState(1.0, 3.0, "No data here")
    chart = drawn(picture(curve(1, 2, NAN, 3, 4), gaps=(gap,)))

    (line,) = (path for path in chart.strokes() if "L" in path)
    assert line.count("M") == 2
    assert "No data here" in chart.titles()


def test_a_reading_between_two_gaps_is_a_dot():
    lone = drawn(picture(curve(1, 2, NAN, 3, NAN, 3, 4)))
    none = drawn(picture(curve(1, 2, 2, 3, 3, 3, 4)))

    assert len(lone.all("circle")) == len(none.all("circle")) + 1


def test_limit_flags_and_axis_say_their_words():
    chart = drawn(
        picture(
            curve(1, 2, 3),
            limit=LimitLineState(4 * GIB, "limit 4 GiB, reload"),
            flags=(FlagState(1.0, "reload", "Reload\nRAM 3 \u2192 1 GiB"),),
        )
    )

    assert {"limit 4 GiB, reload", "reload", "GiB"} <= set(chart.texts())
    assert "Reload; RAM 3 \u2192 1 GiB" in chart.titles()


def test_a_quiet_flag_has_a_pole_and_no_words():
    flag = FlagState(1.0, "save", "Saved", is_quiet=True)
    chart = drawn(picture(curve(1, 2, 3), flags=(flag,)))

    assert "save" not in chart.texts()
    assert "Saved" in chart.titles()


def test_nothing_is_drawn_beyond_the_plot():
    ahead = ForecastState(2.0, 3 * GIB, 4 * GIB, 40.0, 8.0, None, "host limit 4 GiB")
    chart = drawn(picture(curve(*range(1, 40)), forecast=ahead, evidence=(-3.0, 99.0)))

    assert all(0.0 <= x <= CHART_SIZE.width for x in chart.xs())
    last = [float(path.split("L")[-1].split()[0]) for path in chart.strokes() if "L" in path]
    assert max(last) <= CHART_SIZE.width


def test_a_forecast_that_is_in_sight_ends_in_its_limit():
    ahead = ForecastState(2.0, 3 * GIB, 4 * GIB, 6.0, 5.0, 8.0, "host limit 4 GiB")
    chart = drawn(picture(curve(1, 2, 3), forecast=ahead))

    assert "host limit 4 GiB" in chart.texts()
    assert len(chart.all("polygon")) == 2


def forecast_label(*flags: FlagState, x_meets: float = 6.0) -> tuple[float, float] | None:
    """Left and right edge of the text of the limit that a forecast meets; None without it."""
    text = "host limit 5 GiB"
    ahead = ForecastState(2.0, 3 * GIB, 5 * GIB, x_meets, 5.0, None, text)
    chart = drawn(picture(curve(1, 2, 3), forecast=ahead, flags=flags))
    rights = [float(each.get("x", "")) for each in chart.all("text") if each.text == text]
    return (rights[0] - text_width(text), rights[0]) if rights else None


def test_limit_of_a_forecast_at_the_right_edge_keeps_its_text():
    label = forecast_label(x_meets=10.1)

    assert label is not None
    assert label[1] <= CHART_SIZE.width - 4.0


def test_text_of_a_forecasts_limit_covers_no_flag():
    free = forecast_label()
    beside = forecast_label(FlagState(4.0, "reload", "Reload"))
    between = forecast_label(FlagState(4.0, "reload", "Reload"), FlagState(7.0, "save", "Saved"))

    assert free is not None
    assert beside is not None
    assert beside[0] == pytest.approx(free[1])
    assert between is None


def test_a_chart_without_points_says_why():
    chart = drawn(picture(empty_text="no NVIDIA driver on this host"))

    assert "no NVIDIA driver on this host" in chart.texts()
    assert "GiB" not in chart.texts()


def test_colours_are_those_of_a_palette_or_variables_of_the_page():
    chart = picture(curve(1, 2, 3))
    own, of_page = (
        chart_svg(chart, DrawingColours(DARK), about=""),
        chart_svg(chart, DrawingColours(), about=""),
    )

    assert DARK.series[0] in own
    assert "var(" not in own
    assert "var(--series-0)" in of_page
    assert f"--series-0:{DARK.series[0]}" in page_variables(DARK)


def test_hostile_words_stay_words():
    hostile = '"><script>alert(1)</script>\x1b'
    chart = drawn(
        picture(
            curve(1, 2, 3, label=hostile),
            title=hostile,
            limit=LimitLineState(4 * GIB, hostile),
            flags=(FlagState(1.0, hostile, hostile),),
            gaps=(GapState(0.0, 1.0, hostile),),
        )
    )

    assert chart.all("script") == []


def test_a_drawing_says_in_words_what_it_shows():
    chart = drawn(picture(curve(1, 2, 3)))

    assert chart.root.get("role") == "img"
    assert chart.root.get("aria-label") == "RAM: RAM, 3 GiB"
