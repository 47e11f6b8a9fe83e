"""Cost of a load and contents of a file, in the window's words."""

from kmonitor.memory.model_files.inspection import CompileSettings, ModelFile, StoredLayer
from kmonitor.memory.model_files.load_cost import LoadCost
from kmonitor.ui.memory.load_cost import LoadCostStore
from kmonitor.ui.memory.model_file import model_file_state, reading_file, refused_file

MIB = 2**20
COSTS = (
    LoadCost("compiled", 713 * MIB, 401 * MIB, 4.1, "whole", can_train_on=True, repeats=3),
    LoadCost("uncompiled", 492 * MIB, 176 * MIB, 3.3, "lost", repeats=3),
    LoadCost("weights", error="no such layer"),
)


def test_before_anything_is_measured_it_says_what_measuring_does():
    picture = LoadCostStore().state()

    assert not picture.is_running
    assert picture.rows == ()
    assert "new processes" in picture.text


def test_progress_counts_processes():
    desk = LoadCostStore()

    desk.begin()
    assert desk.is_running
    assert "first process" in desk.state().progress
    desk.progress(4, 9)
    picture = desk.state()

    assert (picture.n_done, picture.total, picture.is_running) == (4, 9, True)
    assert picture.progress == "4 of 9 processes have finished"


def test_rows_say_memory_time_optimizer_and_whether_training_goes_on():
    desk = LoadCostStore()
    desk.begin()

    desk.finish(COSTS)

    compiled, uncompiled, weights = desk.state().rows
    assert "713" in compiled.figures
    assert "401" in compiled.figures
    assert "4.1" in compiled.figures
    assert compiled.text == "optimizer present · training can resume exactly where it left off"
    assert compiled.marks == "best for continuing training"
    assert uncompiled.marks == "best for prediction"
    assert "cannot resume" in uncompiled.text
    assert weights.text == "does not work: no such layer"
    assert weights.bar == ()
    assert sum(part.n_bytes for part in compiled.bar) == desk.state().reach == 713 * MIB


def test_the_recommendation_is_told_for_both_uses():
    desk = LoadCostStore()

    desk.finish(COSTS[1:])

    assert desk.state().recommended == (
        "For prediction only: load_model(compile=False)",
        "To continue training: none: no method restores the optimizer's state",
    )
    desk.finish(COSTS[2:])
    assert desk.state().recommended[0] == "For prediction only: no method works"


def test_a_cancel_and_a_refusal_are_told():
    desk = LoadCostStore()
    desk.begin()
    desk.cancel()
    assert desk.state().text.startswith("Canceled")

    desk.begin()
    desk.refuse("it is damaged", "take another")

    picture = desk.state()
    assert (picture.text, picture.tone, picture.is_running) == (
        "it is damaged\ntake another", "crit", False,
    )  # fmt: skip


def test_a_file_tells_how_it_was_compiled_and_what_it_holds():
    found = ModelFile(
        path="m.keras",
        form="keras",
        file_bytes=4 * MIB,
        model="small",
        kind="Sequential",
        keras_version="3.15.1",
        backend="tensorflow",
        precision=("mixed_float16",),
        compile_settings=CompileSettings(
            "Adam", {"name": "adam", "learning_rate": 0.25}, "mse", ("accuracy",)
        ),
        layers=(StoredLayer("wide", "Dense", 25, 100, ((4, 5), (5,))),),
        parameters=25,
        weight_bytes=100,
        slots=6,
        slot_bytes=216,
        own_parts=("mine.Gate",),
    )

    picture = model_file_state(found)

    told = {fact.title: fact.value for fact in picture.facts}
    assert told["Optimizer"] == "Adam"
    assert told["Optimizer settings"] == "learning_rate=0.25"
    assert told["Written by"] == "Keras 3.15.1, tensorflow"
    assert told["Custom classes"] == "mine.Gate"
    assert "6 arrays" in told["Optimizer state"]
    assert picture.layers[0][:2] == ("wide", "Dense")
    assert "(4, 5) (5,)" in picture.layers[0][4]


def test_weights_alone_say_that_nothing_tells_how_they_were_compiled():
    picture = model_file_state(ModelFile(path="m.weights.h5", form="weights", file_bytes=10))

    told = {fact.title: fact.value for fact in picture.facts}
    assert "not recorded" in told["Compiled"]
    assert told["Optimizer state"] == "none in the file"
    assert "Model" not in told


def test_a_file_that_is_read_or_refused_says_so():
    assert reading_file().text
    assert refused_file("it is damaged", "").text == "it is damaged"
