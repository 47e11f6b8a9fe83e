"""`kmonitor compare` on exported files and on a hub's runs."""

import json
from pathlib import Path

import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.compare.command import parse_condition
from kmonitor.cli.compare.measures import Measures
from kmonitor.cli.main import main
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.simulated_agent import SimulatedAgent

__all__ = ["idle_hub", "live_hub"]

MIB = 2**20


def exported(path: Path, *, ram_mib: int = 500, step_ms: float = 20.0, loss: float = 0.5) -> str:
    """A file as `kmonitor export --format json` writes it."""
    lines = [
        {"type": "sample", "ram_bytes": (ram_mib - 100) * MIB, "vram_bytes": None},
        {"type": "sample", "ram_bytes": ram_mib * MIB, "vram_bytes": None},
        {"type": "graph", "operations": 700},
        *(
            {
                "type": "epoch_end",
                "seconds": 2.0,
                "step_times": {"p50_s": step_ms / 1000},
                "logs": {"loss": loss, "val_loss": None},
            }
            for _ in range(3)
        ),
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A file, and one of a run with a tenth more RAM and the same step time."""
    return exported(tmp_path / "a.json"), exported(tmp_path / "b.json", ram_mib=550, loss=0.25)


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("ram>+5%", 1),
        ("ram>+10%", 0),
        ("ram > +49MiB", 1),
        ("ram>549MiB", 1),
        ("ram>1GiB", 0),
        ("step_time>+10%", 0),
        ("step_time>10ms", 1),
        ("loss<-10%", 1),
        ("graph>1k", 0),
        ("epoch_time>1.5s", 1),
    ],
)
def test_a_condition_decides_the_exit_status(
    files: tuple[str, str], condition: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *files, "--fail-if", condition]) == status
    assert (f"Fails: {condition}" in capsys.readouterr().out) == bool(status)


@pytest.mark.parametrize(
    "condition", ["ram", "ram>5%", "ram>+5", "ram>much", "step_time>5parsecs", ">5", "ram>+-5%"]
)
def test_a_mistyped_condition_is_explained(
    files: tuple[str, str], condition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *files, "--fail-if", condition]) == 2
    assert "For example: --fail-if" in capsys.readouterr().err


def test_what_cannot_be_compared_has_a_status_of_its_own(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "c.json"
    damaged.write_text("no JSON\n")
    empty = tmp_path / "d.csv"
    empty.write_text("")

    assert main(["compare", files[0], str(tmp_path / "none.json")]) == 4
    assert main(["compare", files[0], str(damaged)]) == 4
    assert main(["compare", files[0], str(empty)]) == 4
    assert main(["compare", *files, "--fail-if", "vram>+5%"]) == 4
    assert "Available: ram, graph, step_time, epoch_time, loss" in capsys.readouterr().err


def test_a_comparison_is_a_table_markdown_or_json(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", *files, "--fail-if", "ram>+5%"]
    main(words)
    table = capsys.readouterr().out
    main([*words, "--markdown"])
    markdown = capsys.readouterr().out.splitlines()
    main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)

    row = next(line for line in table.splitlines() if line.startswith("ram"))
    assert " ".join(row.split()) == "ram RAM, peak 500 MiB 550 MiB +50.0 MiB +10%"
    assert markdown[0] == "| Measure | a.json | b.json | Change | |"
    assert "| RAM, peak | 500 MiB | 550 MiB | +50.0 MiB | +10% |" in markdown
    assert markdown[-1] == "- `ram>+5%` fails"
    assert found["measures"]["ram"]["fraction"] == pytest.approx(0.1)
    assert found["conditions"] == [{"condition": "ram>+5%", "fails": True}]
    assert found["failed"] is True


def test_a_change_from_nothing_fails_any_percentage() -> None:
    a, b = Measures("a"), Measures("b")
    a.add_peak("vram", 0.0)
    b.add_peak("vram", 1.0)

    assert parse_condition("vram>+500%").fails(a, b)


def test_a_measure_that_one_lacks_cannot_be_compared() -> None:
    a, b = Measures("a"), Measures("b")
    b.add_peak("vram", 1.0)

    with pytest.raises(UserError, match="a has no vram"):
        parse_condition("vram>+5%").fails(a, b)


@pytest.fixture
def stored(live_hub: LiveHub) -> LiveHub:
    """Two runs of one name, the older one pinned, and the newest of another name."""
    for name, ram_mib in (("main", 400), ("main", 450), ("branch", 500)):
        with SimulatedAgent(live_hub.folders, name=name) as agent:
            agent.start_fit()
            agent.start_epoch()
            agent.sample(ram_bytes=ram_mib * MIB)
            agent.end_epoch()
            agent.wait_acked()
            if ram_mib == 400:
                with live_hub.client() as client:
                    client.edit(agent.run, pin=True)
    return live_hub


@pytest.mark.slow
def test_runs_of_a_hub_are_compared_with_each_other_and_with_files(
    stored: LiveHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in ("json", "csv"):
        assert main(["export", "branch", "--output", str(tmp_path / f"run.{ending}")]) == 0
    capsys.readouterr()

    assert main(["compare", "pinned:main", "last", "--json"]) == 0
    of_hub = json.loads(capsys.readouterr().out)["measures"]
    for ending in ("json", "csv"):
        assert main(["compare", "pinned:main", str(tmp_path / f"run.{ending}"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["measures"] == of_hub
    assert of_hub["ram"]["a"] == 400 * MIB
    assert of_hub["ram"]["b"] == 500 * MIB
    assert main(["compare", "pinned:branch", "last"]) == 4
    assert main(["compare", "nobody", "last"]) == 4
