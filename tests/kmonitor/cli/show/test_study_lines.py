"""`kmonitor show` and `kmonitor runs` describe a study by its folds."""

import pytest

from kmonitor.cli.common.summary_text import run_epoch_text
from kmonitor.cli.show.sections import print_study
from tests.support.made_up_runs import made_up_row
from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy


def test_each_try_of_each_fold_has_a_line(capsys: pytest.CaptureFixture[str]):
    study = MadeUpStudy(RUNNING)
    own, *folds = study.runs()
    rows = [made_up_row(at, event, STUDY) for at, event in enumerate(study.events(), start=1)]

    print_study(own, rows, folds)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("5 of 10 folds")
    table = [line.split() for line in lines[4:]]
    assert table[0][:3] == ["FOLD", "TRY", "STATE"]
    assert [row[0] for row in table[1:] if row[0].isdigit()] == [
        *("0", "1", "2", "2", "3", "3", "4", "5", "6", "6", "7", "8", "9")
    ]
    assert "Hung" in table[3]


def test_a_study_has_folds_in_the_place_of_epochs():
    own, fold, *_ = MadeUpStudy(RUNNING).runs()

    assert run_epoch_text(own) == "5 of 10 folds, 1 failed, 1 out of memory"
    assert run_epoch_text(fold) == "20 of 20"
    assert (
        run_epoch_text(MadeUpStudy(["out_of_memory"]).runs()[0]) == "1 of 1 fold, 1 out of memory"
    )


def test_a_search_has_trials(capsys: pytest.CaptureFixture[str]):
    study = MadeUpStudy(["finished", "out_of_memory"], study={"folds": 0})
    own, *trials = study.runs()
    rows = [made_up_row(at, event, STUDY) for at, event in enumerate(study.events(), start=1)]

    print_study(own, rows, trials)

    lines = capsys.readouterr().out.splitlines()
    assert run_epoch_text(own) == "2 trials, 1 out of memory"
    assert lines[4].split()[:3] == ["TRIAL", "TRY", "STATE"]
