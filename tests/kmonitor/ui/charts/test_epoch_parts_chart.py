"""The chart of where the time of each epoch goes: bars, legend, card and crosshair."""

import math

import numpy as np
import pytest

from kmonitor.ui.charts.arrangement import Arrangement, ChartSetup, chart_choices
from kmonitor.ui.charts.chart_kinds import PARTS_KEY, chart_title, judged_metric
from kmonitor.ui.plots.chart_state import ChartState, LayerState, StackState
from kmonitor.ui.plots.layout import PlotFrame, y_axis_of
from kmonitor.ui.plots.stack import layer_boxes, place_legend
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import EpochEnded, EpochParts
from tests.kmonitor.ui.charts.test_metric_charts import Board, kind

SETUP = ChartSetup(PARTS_KEY)
KIND = kind(PARTS_KEY)


def parts_board(**parts: list[float]) -> Board:
    """A run of four epochs, of which so much is known."""
    board = Board()
    board.columns = {f"epoch:part_{name}_s": values for name, values in parts.items()}
    board.feed.want(KIND.requested_columns)
    board.answer()
    return board


def labels(state: ChartState) -> list[str]:
    return [layer.label for layer in state.stack.layers]


def test_parts_of_each_epoch_are_stacked_in_their_order():
    board = parts_board(compute=[6.0, 6.0, 6.0, 6.0], input=[1.0, 2.0, 3.0, 4.0])

    state = board.metrics.state(KIND, SETUP, 400)

    assert labels(state) == ["waiting for input", "compute"]
    assert state.stack.x_from.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert state.stack.x_to.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert state.stack.layers[0].y.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert state.stack.layers[1].share == pytest.approx(24 / 34)
    assert y_axis_of(state, 200.0).lo == 0.0
    assert y_axis_of(state, 200.0).hi >= 10.0


def test_part_that_takes_next_to_nothing_in_each_epoch_is_left_out():
    board = parts_board(
        compute=[6.0] * 4, ours=[0.001] * 4, compiling=[3.0, 0.0, 0.0, 0.0], rest=[0.0] * 4
    )

    assert labels(board.metrics.state(KIND, SETUP, 400)) == [
        "compute and waiting for input",
        "compiling",
    ]


def test_epoch_of_which_nothing_is_known_is_a_gap():
    board = parts_board(compute=[6.0, math.nan, 6.0, 6.0])

    state = board.metrics.state(KIND, SETUP, 400)

    assert state.stack.x_from.tolist() == [0.0, 2.0, 3.0]
    assert [(gap.x_from, gap.x_to) for gap in state.gaps] == [(1.0, 2.0)]


def test_live_epoch_adds_its_bar():
    board = parts_board(compute=[6.0] * 4)

    board.tell(
        EpochEnded(
            t_s=50.0, fit=1, epoch=4, seconds=10.0, parts=EpochParts(wall_s=9.0, compute_s=9.0)
        )
    )

    assert board.metrics.state(KIND, SETUP, 400).stack.layers[0].y.tolist() == [6.0] * 4 + [9.0]


def test_narrow_chart_has_the_mean_of_several_epochs_in_one_bar():
    board = parts_board(compute=[4.0, 6.0, 5.0, 9.0])

    state = board.metrics.state(KIND, SETUP, 10)
    card = board.metrics.crosshair(KIND, SETUP, 1.2, is_shown=True, width_px=10)

    assert state.stack.layers[0].y.tolist() == [5.0, 7.0]
    assert state.stack.x_to.tolist() == [2.0, 4.0]
    assert with_plain_spaces(card.title) == "epochs 1 to 2 \u00b7 5.00 s each"


def test_crosshair_has_seconds_and_percent_the_longest_first():
    board = parts_board(compute=[6.0] * 4, input=[2.0] * 4, callbacks=[0.0, 0.0, 0.0, 8.0])

    card = board.metrics.crosshair(KIND, SETUP, 3.5, is_shown=True, width_px=400)

    assert with_plain_spaces(card.title) == "epoch 4 \u00b7 16.0 s"
    assert [(row.label, with_plain_spaces(row.text)) for row in card.lines] == [
        ("callbacks", "8.00 s \u00b7 50%"),
        ("compute", "6.00 s \u00b7 38%"),
        ("waiting for input", "2.00 s \u00b7 12%"),
    ]
    beside = board.metrics.crosshair(KIND, SETUP, 4.5, is_shown=True, width_px=400)
    assert beside.title == "no data"


def test_card_says_the_last_epoch():
    board = parts_board(compute=[6.0] * 4, input=[2.0] * 4, callbacks=[1.0, 1.0, 1.0, 12.0])

    card = board.card(PARTS_KEY)

    assert with_plain_spaces(card.value) == "20.0 s"
    assert card.note == "last epoch"
    assert with_plain_spaces(card.description) == (
        "Where the time goes, 20.0 s, callbacks 60%, compute 30%, waiting for input 10%"
    )


def test_last_epoch_is_told_though_compute_is_not_known():
    board = parts_board(input=[2.0, 2.0, 2.0, 3.0], callbacks=[1.0, 1.0, 12.0, math.nan])

    assert board.feed.last_epoch_parts("run1") == {"input": 3.0}


def test_run_without_parts_says_why_the_chart_is_empty():
    board = parts_board()

    state = board.metrics.state(KIND, SETUP, 400)

    assert not state.has_points
    assert state.empty_text == "Shown once an epoch has ended."
    assert board.card(PARTS_KEY).absent == state.empty_text


def test_it_comes_beside_step_time():
    arrangement = Arrangement([ChartSetup("step_time"), ChartSetup("ram")])

    assert arrangement.add(PARTS_KEY)
    assert arrangement.keys == ("step_time", PARTS_KEY, "ram")
    assert not arrangement.add(PARTS_KEY)


def test_menu_has_one_chart_of_all_parts():
    have = ["epoch:part_compute_s", "epoch:part_input_s", "epoch:part_rest_s"]

    titles = [c.title for group in chart_choices(have, Arrangement()) for c in group.choices]

    assert titles.count(chart_title(PARTS_KEY)) == 1
    assert not [title for title in titles if "input" in title]


def test_it_shows_the_verdict_on_the_epoch_s_time():
    assert judged_metric(PARTS_KEY) == "epoch_time"
    assert judged_metric("ram") == "ram"
    assert judged_metric("log:loss") is None


def layer(label: str, share: float, *y: float) -> LayerState:
    return LayerState(label, 0, share, np.array(y))


def test_smallest_layers_give_way_in_the_legend_of_a_small_chart():
    edges = np.array([0.0]), np.array([1.0])
    stack = StackState(
        *edges, (layer("aaaa", 0.3, 3.0), layer("bbbb", 0.1, 1.0), layer("cccc", 0.6, 6.0))
    )

    low = place_legend(stack, (150.0, 100.0), lambda text: 5.0 * len(text))
    high = place_legend(stack, (150.0, 400.0), lambda text: 5.0 * len(text))

    assert [entry.layer.label for entry in low] == ["aaaa", "cccc"]
    assert [(entry.layer.label, entry.row) for entry in high] == [
        ("aaaa", 0),
        ("bbbb", 0),
        ("cccc", 1),
    ]


def test_boxes_of_a_bar_lie_upon_each_other_within_the_plot():
    frame = PlotFrame(
        left=10.0,
        top=0.0,
        width=100.0,
        height=100.0,
        x_lo=0.0,
        x_hi=2.0,
        y_lo=0.0,
        y_hi=10.0,
        data_width=100.0,
    )
    stack = StackState(
        np.array([-1.0, 1.0]),
        np.array([1.0, 3.0]),
        (layer("a", 0.5, 4.0, 2.0), layer("b", 0.5, 0.0, 8.0)),
    )

    boxes = {each.label: found for each, found in layer_boxes(stack, frame)}

    # A pixel is left free to the next bar and layer; what is out of sight is cut off.
    assert boxes["a"] == [(10.0, 61.0, 49.0, 39.0), (60.0, 81.0, 49.0, 19.0)]
    assert boxes["b"] == [(60.0, 1.0, 49.0, 79.0)]
