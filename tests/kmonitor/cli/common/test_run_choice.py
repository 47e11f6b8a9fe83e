from types import SimpleNamespace
from typing import Self

import msgspec
import pytest

from kmonitor.cli.common import run_choice
from kmonitor.cli.common.run_choice import (
    AmbiguousRun,
    UnknownRun,
    choose_run,
    find_run_anywhere,
)
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.unions import RunSummary


def run(id_: str, name: str = "resnet", started_wall_s: float = 1.8e9) -> RunSummary:
    return RunSummary(
        run=id_,
        name=name,
        host="here",
        state="training",
        session="b",
        pid=1,
        started_wall_s=started_wall_s,
        last_wall_s=started_wall_s,
        change=1,
    )


RUNS = [run("3f2a11", "a"), run("3f2b22", "b", 1.8e9 + 60), run("77aa", "b", 1.8e9 + 30)]


@pytest.mark.parametrize(("wanted", "meant"), [("3f2a11", 0), ("a", 0), ("77", 2), ("3f2b", 1)])
def test_id_name_and_beginning_of_an_id_name_a_run(wanted: str, meant: int):
    assert choose_run(RUNS, wanted) is RUNS[meant]


def test_last_is_the_newest_start():
    assert choose_run(RUNS, "last") is RUNS[1]


def test_a_whole_id_wins_over_a_longer_one_that_begins_with_it():
    runs = [run("3f2a11"), run("3f2a")]

    assert choose_run(runs, "3f2a") is runs[1]


def test_a_name_wins_over_the_beginning_of_an_id():
    runs = [run("beef01", "first"), run("1234", "beef")]

    assert choose_run(runs, "beef") is runs[1]


def test_the_beginning_of_a_name_names_a_run():
    assert choose_run([run("3f2a11", "resnet"), run("77aa", "vgg")], "res").name == "resnet"


def test_of_several_runs_of_a_name_the_only_live_one_is_meant():
    ended = msgspec.structs.replace(run("1111", "net", 1.9e9), state="finished")

    assert choose_run([run("3f2a11", "net"), ended], "net").run == "3f2a11"


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(UnknownRun) as raised:
        choose_run([run("3f2a11", "leaky_training")], "leaky_trainng")

    assert "Did you mean leaky_training?\n" in raised.value.remedy


@pytest.mark.parametrize("wanted", ["3f2", "b"])
def test_several_matches_are_listed_and_none_is_taken(wanted: str):
    with pytest.raises(AmbiguousRun) as raised:
        choose_run(RUNS, wanted)

    assert "2 runs" in raised.value.what
    assert "3f2b22" in raised.value.remedy


def test_many_matches_are_not_all_listed():
    runs = [run(f"{number:04d}", "same", 1.8e9 + number) for number in range(20)]

    with pytest.raises(AmbiguousRun) as raised:
        choose_run(runs, "same")

    assert "0019" in raised.value.remedy
    assert "12 older" in raised.value.remedy


@pytest.mark.parametrize("wanted", ["zz", "", "last one"])
def test_an_unknown_run_says_where_runs_are_listed(wanted: str):
    with pytest.raises(UnknownRun) as raised:
        choose_run(RUNS, wanted)

    assert "kmonitor runs" in raised.value.remedy


def test_without_any_run_the_message_says_how_one_comes_about():
    with pytest.raises(UnknownRun) as raised:
        choose_run([], "last")

    assert "MonitorCallback()" in raised.value.remedy


def test_a_name_that_would_move_the_cursor_is_not_printed_as_it_is():
    with pytest.raises(UnknownRun) as raised:
        choose_run(RUNS, "\x1b[2Jx")

    assert "\x1b" not in raised.value.what


def test_a_run_that_is_not_here_may_be_on_a_remembered_host(folders: Folders):
    HostStore(folders).add("ada@gpu-01.example", name="gpu")

    with pytest.raises(UnknownRun) as raised:
        choose_run(RUNS, "nobody")

    assert "(gpu), add --host gpu" in raised.value.remedy


class StartingHub:
    """A hub that has read its spools when it was asked twice."""

    def __init__(self, *_: object) -> None:
        self._n_asked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def hub(self) -> SimpleNamespace:
        self._n_asked += 1
        return SimpleNamespace(is_shipping=self._n_asked < 2)

    def runs(self) -> list[RunSummary]:
        return RUNS if self._n_asked >= 2 else []


def test_a_host_whose_hub_just_started_is_asked_again(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    HostStore(folders).add(f"tcp://gpu-01:5577?key={'ab' * 32}", name="gpu")
    monkeypatch.setattr(run_choice, "network_hub", lambda *_: None)
    monkeypatch.setattr(run_choice, "HubClient", StartingHub)

    assert find_run_anywhere(folders, [], "77aa") == "77aa"
