"""A `KMONITOR_HOME` that is another folder from everywhere is refused before anything is done."""

from pathlib import Path

import pytest

from kmonitor.cli.main import main
from kmonitor_agent.recording.settings import check_home

TOLD = "KMONITOR_HOME='a/home' is a relative path; use an absolute"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--screenshot", "window.png"],
        ["runs"],
        ["show", "last"],
        ["command", "last", "save"],
        ["doctor"],
        ["hub", "status"],
        ["purge"],
        ["run", "--", "python", "-c", "pass", "--help"],
    ],
)
def test_every_command_and_the_window_refuse_it_in_the_callbacks_words(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KMONITOR_HOME", "a/home")

    status = main(words)

    told = capsys.readouterr().err.strip()
    assert status == 1
    assert told.startswith(f"kmonitor: {TOLD} path, such as {tmp_path}")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="relative path") as refused:
        check_home({"KMONITOR_HOME": "a/home"})
    assert told == f"kmonitor: {refused.value}"


def test_help_is_given_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("KMONITOR_HOME", "a/home")

    assert main(["runs", "--help"]) == 0
    assert "Usage: kmonitor runs" in capsys.readouterr().out
