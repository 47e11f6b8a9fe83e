"""`kmonitor purge`, studies of `run_folds` and `kmonitor run`: its own files go, a fold's stay."""

from kmonitor.alerts.rules import AlertSettings, save_alert_settings
from kmonitor.cli.purge import find_own_files, remove_emptied
from kmonitor_agent.wire.local.folders import Folders

OURS = (
    "study.json",
    "attempts.jsonl",
    "attempts.txt",
    "lock",
    "values/0.value",
    "output/0.txt",
    "splits/0-train.npy",
    "resume/1/terms.json",
    "resume/1/" + "a" * 32 + "/1.json",
)


def test_rules_of_alerts_go_with_the_address_that_may_be_a_secret(folders: Folders):
    save_alert_settings(folders.settings, AlertSettings(webhook="https://x.example/secret"))

    assert find_own_files(folders).ours == [folders.settings / "alerts.json"]


def test_what_a_study_wrote_goes_and_what_a_fold_wrote_stays(folders: Folders):
    study = folders.state / "studies" / ("0" * 32)
    for name in (*OURS, "fold-0/model.keras"):
        (study / name).parent.mkdir(parents=True, exist_ok=True)
        (study / name).write_text("x")
    (study / "fold-1").mkdir()

    found = find_own_files(folders)
    for path in found.ours:
        path.unlink()
    remove_emptied(found.ours, folders)

    assert {str(path.relative_to(study)) for path in found.ours} == set(OURS)
    assert found.others == [study / "fold-0"]
    left = {str(path.relative_to(study)) for path in study.rglob("*")}
    assert left == {"fold-0", "fold-0/model.keras"}


def test_the_folder_of_scripts_that_ended_well_under_kmonitor_run_goes_too(folders: Folders):
    restarts = folders.state / "restarts"
    restarts.mkdir(parents=True)

    remove_emptied([], folders)

    assert not restarts.exists()
