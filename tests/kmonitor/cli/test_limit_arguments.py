import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.common.options import bytes_from
from kmonitor.cli.map import print_fit
from kmonitor.cli.send_command import limits_from, requested_text
from kmonitor.memory.what_if import BatchFit


def test_a_limit_is_read_with_its_action_and_who_set_it():
    arguments = limits_from(["ram=80%:reload"], set_by="ada")

    (limit,) = arguments.limits
    assert (limit.metric, limit.fraction, limit.action) == ("ram", 0.8, "reload")
    assert limit.set_by == "ada"
    assert arguments.metrics == ["ram"]


def test_without_an_action_a_limit_only_notifies():
    (limit,) = limits_from(["graph=50000"], set_by="").limits

    assert (limit.value, limit.action) == (50000, "notify")


def test_units_are_those_of_the_script():
    ram, step = limits_from(["ram=2 GiB", "step_time=250 ms"], set_by="").limits

    assert ram.value == 2 * 2**30
    assert step.value == pytest.approx(0.25)


def test_off_takes_the_limit_of_a_metric_away():
    arguments = limits_from(["vram=off", "graph=10k:collect"], set_by="")

    assert arguments.metrics == ["vram", "graph"]
    assert [limit.metric for limit in arguments.limits] == ["graph"]


@pytest.mark.parametrize(
    "word", ["ram", "speed=3", "ram=", "ram=lots", "ram=80%:explode", "graph=80%", "ram=nan", "=1"]
)
def test_what_makes_no_sense_is_named_with_an_example(word: str):
    with pytest.raises(UserError) as raised:
        limits_from([word], set_by="")

    assert f'"{word}"' in raised.value.what
    assert "set_limits ram=80%:reload" in raised.value.remedy


def test_no_limit_at_all_is_refused():
    with pytest.raises(UserError, match="at least one"):
        limits_from([], set_by="")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["ram=8G"], "RAM at most 8 GiB, notify"),
        (["ram=8GB:reload"], "RAM at most 7.5 GiB, reload"),
        (["vram=1.5 GiB", "graph=off"], "VRAM at most 1.5 GiB, notify; no limit on graph size"),
        (["ram=80%:stop", "ram=70%"], "RAM at most 80%, stop; RAM at most 70%, notify"),
        (["step_time=250ms"], "Step time at most 250 ms, notify"),
    ],
)
def test_limits_are_confirmed_as_they_are_understood_with_their_unit(words: list[str], text: str):
    assert requested_text(limits_from(words, set_by="")) == text


@pytest.mark.parametrize(("typed", "shown"), [("8G", "8.0 GiB"), ("8GB", "7.5 GiB")])
def test_the_limit_of_a_map_is_printed_as_it_is_understood(
    typed: str, shown: str, capsys: pytest.CaptureFixture[str]
):
    print_fit(BatchFit(certain=16, likely=32), bytes_from(typed, "--limit"))

    assert f"within {shown}: 32" in capsys.readouterr().out
