"""Scripts after real reports: their heads, and what a hub says of some of them."""

from pathlib import Path
from typing import Final

import pytest

from tests.leaks import corpus
from tests.leaks.report import Report, read_report, script_named, scripts
from tests.leaks.running import Course, How, has_ended, read_course, run_name, run_script
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.waiting import DEADLINE_S, wait_until

QUICK: Final = (
    "tensorflow_37653_from_generator",
    "tensorflow_31175_function_argument",
    "innereye_209_validation_outputs",
    "donkeycar_166_cycled_generator",
    "h5py_2542_many_datasets",
)
"""Those of `make test`: short, and each of another kind."""

MORE: Final = (
    "tensorflow_124972_shapes",
    "keras_9345_histories_kept",
    "mava_346_python_arguments",
    "tensorflow_61791_subclass_loop",
    "discuss_82886_model_argument",
    "tensorflow_35084_py_function",
    "tensorflow_41395_captured_tensor",
    "tensorflow_36240_cache",
    "tensorflow_38945_validation_split",
    "keras_8946_processes_left",
    "tensorflow_44711_predict_loop",
    "tensorflow_44728_gan_train_on_batch",
    "tensorflow_29697_cache_over_epochs",
    "nanogpt_287_memmap",
    "keras_2674_hdf5",
    "stardist_107_lru_cache",
    "pymatch_23_ensemble",
    "keras_3863_cycles_until_collected",
    "tensorflow_30952_embedding",
    "keras_8607_epoch_metrics",
    "tensorflow_54299_shuffled_images",
    "tensorflow_2942_heap_fragments",
)
"""Those of `make test-full`."""


def watched(name: str, home: Path, hub: LiveHub) -> Course:
    """A hub's verdicts on a script that it watches."""
    script = script_named(name)
    run = run_script(script, home.parent, How(limit_s=3 * DEADLINE_S), home)
    assert run.status == 0, run.errors
    with hub.client() as client:
        run_of = run_name(script, fixed=False)
        wait_until(lambda: has_ended(client, run_of), what="the hub has it all")
        return read_course(client, run_of, read_report(script).metric)


def check(report: Report, course: Course) -> None:
    assert course.is_right(report.expected), [(one.units, one.state) for one in course.said]
    assert not report.named or course.cause in report.named


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.stem)
def test_head_is_complete_and_names_a_thread(script: Path):
    report = read_report(script)

    assert report.faults() == []


def test_no_thread_is_the_first_of_two_scripts():
    threads = [read_report(script).thread for script in scripts()]

    assert len(set(threads)) == len(threads)


def test_script_that_lacks_a_module_ends_as_skipped(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        corpus.require("no_such_framework")

    assert ended.value.code == corpus.EXIT_SKIPPED
    assert "no_such_framework" in capsys.readouterr().err


@pytest.mark.keras
@pytest.mark.slow
@LONG
@pytest.mark.parametrize("name", QUICK)
def test_quick_script_is_judged_right(name: str, kmonitor_home: Path, live_hub: LiveHub):
    course = watched(name, kmonitor_home, live_hub)

    check(read_report(script_named(name)), course)


@pytest.mark.keras
@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("name", MORE)
def test_script_is_judged_right(name: str, kmonitor_home: Path, live_hub: LiveHub):
    course = watched(name, kmonitor_home, live_hub)

    check(read_report(script_named(name)), course)
