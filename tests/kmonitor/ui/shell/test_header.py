from kmonitor.ui.shell.header import header_state
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.commands import LimitSpec
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary
from tests.support.made_up_runs import GIB, NOW_WALL_S, limit, made_up_run


def chips_of(run: RunSummary, *, is_connected: bool = True) -> dict[str, str]:
    picture = header_state(run, now_wall_s=NOW_WALL_S, is_connected=is_connected)
    return {chip.key: with_plain_spaces(chip.text) for chip in picture.chips}


def test_without_a_run_the_header_is_empty():
    picture = header_state(None, now_wall_s=NOW_WALL_S, is_connected=True)
    assert (picture.title, picture.subtitle, picture.chips) == ("", "", ())


def test_the_header_says_run_progress_and_pace():
    picture = header_state(made_up_run(), now_wall_s=NOW_WALL_S, is_connected=True)

    assert picture.title == "resnet50-imagenet"
    assert picture.subtitle.startswith("gpu-01 · pid 48213 · started ")
    assert chips_of(made_up_run()) == {
        "state": "Training",
        "epoch": "Epoch 37 / 90",
        "step": "Step 1 204 / 1 563",
        "step_time": "272 ms / step",
    }


def test_unknown_totals_and_readings_are_left_out():
    run = made_up_run(epochs=0, steps=None, step_time=MetricReading())
    assert chips_of(run) == {"state": "Training", "epoch": "Epoch 37", "step": "Step 1 204"}
    assert chips_of(made_up_run(epoch=None, step=0, step_time=MetricReading())) == {
        "state": "Training"
    }


def test_an_ended_run_shows_no_steps():
    assert "step" not in chips_of(made_up_run(state="finished"))


def test_loops_of_models_count_their_fits():
    assert chips_of(made_up_run(fit=7, fits_done=6))["fit"] == "Fit 7"


def test_what_needs_attention_is_a_chip_that_gives_way_late():
    run = made_up_run(limits=[limit("ram", 60 * GIB), limit("graph", 1e9)], gaps=12, faults=1)
    picture = header_state(run, now_wall_s=NOW_WALL_S, is_connected=True)
    chips = {chip.key: chip for chip in picture.chips}

    assert chips["over_ram"].text == "RAM above its limit"
    assert with_plain_spaces(chips["over_ram"].tooltip) == "The limit is 60 GiB"
    assert chips["over_ram"].rank < chips["epoch"].rank < chips["step"].rank
    assert chips["gaps"].text == "12 events missing"
    assert chips["faults"].text == "kmonitor errors: 1"
    assert "over_graph" not in chips


def test_a_percentage_is_of_what_can_be_had():
    alone = MetricReading(value=2 * GIB, of=8 * GIB)
    crowded = MetricReading(value=2 * GIB, of=2.4 * GIB)
    limits = [LimitSpec("ram", fraction=0.8, action="reload")]

    assert "over_ram" not in chips_of(made_up_run(ram=alone, limits=limits))
    assert "over_ram" in chips_of(made_up_run(ram=crowded, limits=limits))
    assert "over_ram" not in chips_of(made_up_run(ram=crowded, limits=[limit("ram", 4 * GIB)]))
