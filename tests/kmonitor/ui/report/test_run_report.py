"""Reports of runs that a real hub stored."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.report.page import file_stem, write_report
from kmonitor_agent.wire.messages.commands import LimitSpec
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    Footprint,
    LayerFacts,
    ModelFacts,
    Notice,
    SlotFacts,
)
from tests.support.drawings import MAY_STAND_IN_IT, Page
from tests.support.growing_run import Growing, events_of
from tests.support.live_hub import LiveHub
from tests.support.made_up_maps import told_layout
from tests.support.made_up_runs import made_up_run
from tests.support.simulated_agent import MIB, SimulatedAgent

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\"'&\u202e\x1b[2J"

LEAK = Growing(
    ram_mib=8.0, traces=2, retained=2, function="train_function", ram_of_bytes=1400 * MIB
)


def page_of(client: HubClient, folder: Path) -> Page:
    (run,) = client.runs()
    write_report(client, run, folder / "report.html")
    return Page.of((folder / "report.html").read_text(encoding="utf-8"))


def tell_a_leak(agent: SimulatedAgent, *, name: str) -> None:
    agent.start_fit(epochs=60, model=name)
    agent.set_limits(
        [LimitSpec(metric="ram", value=1450 * MIB, action="reload", hold_s=0.0, cooldown_s=60.0)]
    )
    layer = LayerFacts(name, name, "(None, 8)", "float32", 72, 72, 288)
    slots = [SlotFacts("momentum", 1, 288)]
    agent.emit(
        ModelFacts(0.1, 1, 1, 1, name, "Functional", 1, [layer], 72, 288, "Adam", slots, 288)
    )
    agent.emit(
        ActionRecord(
            t_s=0.5,
            action="reload",
            ok=True,
            requested_by=name,
            fit=1,
            epoch=0,
            seconds=1.4,
            before=Footprint(ram_process_bytes=1300 * MIB),
            after=Footprint(ram_process_bytes=900 * MIB),
            held=[name, "1 trace of main.py:12"],
            why=name,
        )
    )
    agent.emit(Notice(t_s=0.6, level="warning", code="x", text=name))
    for event in list(events_of(LEAK, 40))[1:]:
        agent.emit(event)


def test_a_leak_is_told_with_charts_evidence_forecast_and_advice(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="leaking") as agent:
        tell_a_leak(agent, name="plain")
        agent.wait_acked()
        page = page_of(client, tmp_path)

    for words in (
        "RAM: leak suspected",
        "Traces of models that no longer exist are retained (train_function)",
        "95% interval",
        "Limit 1.4 GiB in about",
        f"Collect (kmonitor command {agent.run[:8]} collect)",
        "limit 1.4 GiB, reload",
        "1.3 \u2192 0.9 GiB",
        "1 trace of main.py:12",
        "Fit 1 started: plain",
        "(None, 8)",
        "keras 3.15.0",
        "process: /proc/self/statm",
        "no NVIDIA driver on this host",
    ):
        assert words in page.text.replace("\u202f", " "), words
    assert [name for name, _ in page.elements].count("svg") == 4


def test_a_report_holds_nothing_that_runs_or_loads_whatever_a_script_is_called(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name=HOSTILE) as agent:
        tell_a_leak(agent, name=HOSTILE)
        agent.wait_acked()
        page = page_of(client, tmp_path)

    assert page.names <= MAY_STAND_IN_IT
    assert {key for key in page.attributes if key.startswith("on")} == set()
    assert page.attributes.isdisjoint({"src", "href", "xlink:href", "srcset", "action"})
    (policy,) = (a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert "url(" not in page.text
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text


def test_a_report_has_the_memory_map_of_the_runs_model(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="mapped") as agent:
        agent.start_fit(epochs=1, model="small_resnet")
        for event in told_layout():
            agent.emit(event)
        agent.wait_acked()
        page = page_of(client, tmp_path)

    text = page.text.replace("\u202f", " ")
    for words in ("Memory map", "Peak by batch size", "Ways to lower the peak", "Tier 2"):
        assert words in text, words
    assert "encoder/block1/conv1" in text


def test_a_run_that_told_nothing_yet_has_a_report_that_says_so(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="young") as agent:
        agent.wait_acked()
        page = page_of(client, tmp_path)

    for words in ("No verdicts", "Nothing was reclaimed", "No model was reported"):
        assert words in page.text
    assert "Waiting for the first reading" in page.text


def test_a_note_keeps_its_lines(live_hub: LiveHub, client: HubClient, tmp_path: Path):
    with SimulatedAgent(live_hub.folders, name="noted") as agent:
        agent.wait_acked()
        (run,) = client.runs()
    write_report(client, replace(run, note="too high\n\nsecond <b>line</b>"), tmp_path / "r.html")

    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<p>too high</p><p>second &lt;b&gt;line&lt;/b&gt;</p>" in text


def test_what_has_ended_meets_no_limit_any_more_and_takes_no_command(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="ended") as agent:
        tell_a_leak(agent, name="plain")
        agent.end_boot()
        agent.wait_acked()
        page = page_of(client, tmp_path)

    assert "RAM: leak suspected" in page.text
    assert "in about" not in page.text
    assert "kmonitor command" not in page.text


def test_a_bad_end_is_told_with_the_last_minute_and_what_can_go_on(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="dead") as agent:
        agent.start_fit()
        agent.sample(t_s=1.0, ram_bytes=700 * MIB)
        agent.sample(t_s=5.0, ram_bytes=900 * MIB)
        agent.end_boot("failed")
        agent.wait_acked()
        page = page_of(client, tmp_path)

    for words in ("Before the end", "700 MiB to 900 MiB", "Nothing was saved"):
        assert words in page.text.replace("\u202f", " "), words


def test_a_report_that_cannot_be_written_leaves_nothing(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="run") as agent:
        agent.wait_acked()
        with pytest.raises(UserError, match="cannot be written"):
            page_of(client, tmp_path / "no-such-folder")

    assert list(tmp_path.glob("*.html*")) == []


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("resnet50 fold 3", "resnet50-fold-3-3f2a8c1e"),
        ("../../etc/passwd", "etc-passwd-3f2a8c1e"),
        ("\u8bad\u7ec3", "\u8bad\u7ec3-3f2a8c1e"),
        ("...", "run-3f2a8c1e"),
        ("net.v2", "net-v2-3f2a8c1e"),
    ],
)
def test_a_file_is_named_after_its_run_and_stays_where_it_is_put(name: str, stem: str):
    assert file_stem(made_up_run("3f2a8c1e99", name=name)) == stem


def test_a_long_name_still_fits_a_file_system():
    stem = file_stem(made_up_run("3f2a8c1e99", name="\u8bad" * 200))

    assert len(stem.encode()) < 200


def test_charts_of_the_trainings_metrics_stand_behind_the_four(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders) as agent:
        agent.start_fit()
        for loss in (0.75, 0.25, 0.5):
            agent.start_epoch()
            agent.sample()
            agent.end_epoch(loss=loss)
        agent.wait_acked()
        page = page_of(client, tmp_path)

    words = page.text
    for said in ("loss", "best 0.25, epoch 2", "Learning rate", "first 0.001"):
        assert said in words
    assert "GPU power" not in words
