"""A study's files: damage is seen, what cannot be kept is said, and only its user reads them."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor_agent import FoldsRefused, run_folds
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.fold_child import replace_file
from kmonitor_agent.studies.run_folds import study_result
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.studies.values import pack_value, seal_value
from tests.support import fold_functions as functions

FACTS = StudyFacts("study1", "train.py: train", 3)


@pytest.fixture
def lines() -> list[str]:
    """Lines that the study prints for the user."""
    return []


@pytest.fixture
def folder(tmp_path: Path, lines: list[str]) -> Iterator[StudyFolder]:
    """The folder of a study of three folds, the first two of which finished; reopened."""
    first = begun(tmp_path / "study")
    for fold in range(2):
        keep(first, fold, fold * 10)
    first.close()
    again = begun(tmp_path / "study", lines)
    yield again
    again.close()


def begun(path: Path, lines: list[str] | None = None) -> StudyFolder:
    """A start of the study."""
    folder = StudyFolder(path, ([] if lines is None else lines).append)
    folder.begin(FACTS)
    return folder


def keep(folder: StudyFolder, fold: int, value: object) -> None:
    """A fold finished with this value."""
    replace_file(folder.value_file(fold), seal_value(pack_value(value), FACTS.id, fold))
    folder.note_start(fold, 1, "fold")
    folder.note(Attempt(fold, 1, "finished"))


def test_what_finished_is_not_run_again(folder: StudyFolder):
    assert folder.finished() == {0, 1}
    assert [folder.value(each) for each in range(2)] == [0, 10]


def test_a_value_with_one_bit_changed_is_run_again_and_told_once(
    lines: list[str], folder: StudyFolder
):
    data = bytearray(folder.value_file(1).read_bytes())
    data[-1] ^= 1
    folder.value_file(1).write_bytes(data)

    assert folder.finished() == {0}
    assert folder.finished() == {0}
    assert len(lines) == 1
    assert "fold 1: its return value cannot be read: it is damaged" in lines[0]
    assert "it will be run again" in lines[0]


def test_a_value_of_another_fold_or_study_is_not_taken(folder: StudyFolder):
    folder.value_file(0).write_bytes(folder.value_file(1).read_bytes())
    folder.value_file(1).write_bytes(seal_value(pack_value(10), "study2", 1))

    assert folder.finished() == set()


def test_a_attempts_that_cannot_be_written_is_told_once_and_ends_nothing(
    lines: list[str], folder: StudyFolder
):
    attempts = folder.path / "attempts.jsonl"
    attempts.unlink()
    attempts.mkdir()

    keep(folder, 2, 20)
    folder.note(Attempt(2, 2, "killed"))

    assert len(lines) == 1
    assert f"results are not being saved in {folder.path}" in lines[0]
    study = study_result(folder, 3)
    assert study.complete
    assert "a second call would run these folds again" in str(study.attempts)


def test_what_could_not_be_written_is_written_with_the_next_line(folder: StudyFolder):
    attempts = folder.path / "attempts.jsonl"
    attempts.rename(folder.path / "away")
    keep(folder, 2, 20)
    (folder.path / "away").rename(attempts)

    folder.note(Attempt(0, 2, "killed", "later"))

    assert folder.trouble == ""
    folder.close()
    again = begun(folder.path)
    assert [(each.fold, each.attempt) for each in again.attempts] == [
        (0, 1),
        (1, 1),
        (2, 1),
        (0, 2),
    ]
    again.close()


def test_an_attempt_that_ended_with_the_script_is_in_the_attempts_once(folder: StudyFolder):
    folder.note_start(2, 1, "fold")
    folder.close()

    for _ in range(2):
        again = begun(folder.path)
        last = again.attempts[-1]
        assert len(again.attempts) == 3
        assert (last.fold, last.attempt, last.cause) == (2, 1, "killed")
        assert "the script that ran the study ended" in last.why
        assert again.tried()[2] == 1
        again.close()


def test_a_damaged_study_file_says_what_to_do(folder: StudyFolder):
    folder.close()
    (folder.path / "study.json").write_text("{")

    with pytest.raises(FoldsRefused, match=r"study\.json, which describes .* another study="):
        begun(folder.path)


@pytest.mark.slow
def test_a_fold_that_removes_the_study_costs_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    study = run_folds(functions.remove_study, folds=3, study=tmp_path / "study")

    assert study.complete
    assert study.values == [0, 1, 2]
    assert capsys.readouterr().err.count("results are not being saved in") == 1


@pytest.mark.slow
def test_what_a_study_keeps_is_its_users_alone_in_any_folder(tmp_path: Path):
    place = tmp_path / "study"
    place.mkdir()
    place.chmod(0o755)

    run_folds(functions.split, folds=[([0, 1], [2])], study=place)

    open_ones = {
        str(each.relative_to(place))
        for each in place.rglob("*")
        if stat.S_IMODE(each.stat().st_mode) & 0o077
    }
    assert open_ones == set()
    assert (place / "values" / "0.value").is_file()


def test_a_refused_call_without_a_folder_leaves_none(kmonitor_home: Path):
    with pytest.raises(TypeError):
        run_folds(functions.nothing, folds="five")  # pyright: ignore[reportArgumentType]

    assert list((kmonitor_home / "studies").iterdir()) == []
