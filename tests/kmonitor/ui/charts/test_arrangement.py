"""Charts: which exist, what the menu offers, and how they are arranged."""

import pytest

from kmonitor.ui.charts.arrangement import (
    DEFAULT_CHARTS,
    MOST_CHARTS,
    Arrangement,
    ChartSetup,
    chart_choices,
    smoothing_choices,
)
from kmonitor.ui.charts.chart_kinds import (
    available_chart_kinds,
    better_direction,
    chart_kind,
    chart_title,
)

HAVE = [
    *("ram_bytes", "ram_process_bytes", "functions", "epoch:seconds", "epoch:learning_rate"),
    *("log:loss", "log:val_loss", "log:auc", "batch:loss", "log:val_only", "batch:early"),
    *("device_power_w", "device1_temperature_c"),
]


def test_training_metrics_are_one_chart_with_their_validation():
    kinds = {kind.key: kind for kind in available_chart_kinds(HAVE)}

    assert kinds["log:loss"].columns == ("log:loss", "log:val_loss")
    assert kinds["log:loss"].within == "batch:loss"
    assert "log:val_loss" not in kinds
    assert kinds["log:val_only"].columns == ("log:val_only",)
    assert "log:early" in kinds


def test_the_menu_has_groups_in_order_and_the_four_are_always_there():
    groups = chart_choices(HAVE, Arrangement())

    assert [each.group for each in groups] == ["memory", "graph", "time", "training", "gpu"]
    assert [c.key for c in chart_choices([], Arrangement()) for c in c.choices] == [
        *("vram", "ram", "graph", "step_time")
    ]
    training = [choice.title for choice in groups[3].choices]
    assert training == ["loss", "auc", "early", "val_only", "Learning rate"]
    assert [choice.title for choice in groups[4].choices] == ["GPU power", "GPU 1 temperature"]


def test_a_chart_on_the_board_can_be_taken_away_though_no_run_has_it():
    arrangement = Arrangement([ChartSetup("ram"), ChartSetup("log:gone")])

    chosen = [c for group in chart_choices([], arrangement) for c in group.choices if c.is_shown]

    assert [choice.key for choice in chosen] == ["ram", "log:gone"]


@pytest.mark.parametrize("key", ["", "log:", "nothing", "device9x_power_w", "device1_nothing"])
def test_what_this_version_cannot_draw_is_left_out(key: str):
    assert chart_kind(key) is None
    assert Arrangement([ChartSetup(key), ChartSetup("ram")]).keys == ("ram",)


def test_charts_are_added_moved_changed_removed_and_reset():
    board = Arrangement()

    assert board.saved() is None
    assert board.add("log:loss")
    assert not board.add("log:loss")
    assert board.move("log:loss", 0)
    assert board.step("log:loss", 1)
    assert not board.move("log:loss", 1)
    assert board.keys == ("vram", "log:loss", "ram", "graph", "step_time")
    board.change(ChartSetup("log:loss", smoothing=0.9, is_log=True))
    assert board.setup("log:loss").smoothing == 0.9
    assert board.remove("vram")
    assert Arrangement(board.saved()).charts == board.charts
    board.reset()
    assert board.charts == DEFAULT_CHARTS


def test_the_last_chart_stays_and_there_are_not_more_than_fit():
    board = Arrangement([ChartSetup("ram")])
    assert not board.remove("ram")

    for n in range(2 * MOST_CHARTS):
        board.add(f"log:metric{n}")

    assert len(board.charts) == MOST_CHARTS
    assert not board.step("ram", -1)


@pytest.mark.parametrize(
    ("log", "which"),
    [
        ("loss", "lower"),
        ("val_loss", "lower"),
        ("mean_absolute_error", "lower"),
        ("rmse", "lower"),
        ("accuracy", "higher"),
        ("acc", "higher"),
        ("sparse_categorical_accuracy", "higher"),
        ("auc", "higher"),
        ("f1_score", "higher"),
        ("precision_1", "higher"),
        ("kl_divergence", "lower"),
        ("steps_so_far", None),
        ("place", None),
    ],
)
def test_what_is_better_follows_from_the_name_or_is_not_claimed(log: str, which: str | None):
    assert better_direction(log) == which


def test_a_weight_that_was_chosen_elsewhere_is_offered_too():
    choices = smoothing_choices(ChartSetup("log:loss", smoothing=0.75))

    assert [c.weight for c in choices] == [0.0, 0.6, 0.75, 0.9, 0.99]
    assert [c.weight for c in choices if c.is_chosen] == [0.75]


def test_logs_keep_the_names_of_the_script():
    assert chart_title("log:my metric") == "my metric"
    assert chart_title("device2_power_w") == "GPU 2 power"
