"""A hub process that reports figures: what it serves, sends, says of itself and refuses."""

import urllib.request

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kmonitor.cli.doctor.command import metrics_findings
from kmonitor.connect.local_hub import request_local_hub
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import HubReply
from tests.support import live_hub, otlp_collector
from tests.support.live_hub import LiveHub
from tests.support.loopback import refusing_url as refusing_url  # noqa: PLC0414 - a fixture
from tests.support.made_up_runs import told_hub
from tests.support.otlp_collector import Collector
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S, wait_until

idle_hub = live_hub.idle_hub

pytestmark = [pytest.mark.prometheus_client, pytest.mark.opentelemetry, pytest.mark.slow]

collector = otlp_collector.collector


def read(told: HubReply) -> dict[str, float]:
    """The page, by name of the figure; of those with labels, the last one."""
    with urllib.request.urlopen(told.prometheus, timeout=DEADLINE_S) as answer:  # noqa: S310 - http
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_a_training_is_on_the_page_and_at_the_collector(idle_hub: LiveHub, collector: Collector):
    told = idle_hub.start("--prometheus", "127.0.0.1:0", "--otlp", collector.url)
    with SimulatedAgent(idle_hub.folders, name="net") as agent:
        agent.start_fit()
        agent.emit(Sample(t_s=1.0, fit=1, ram_process_bytes=5.0))
        agent.wait_acked()

        name = "kmonitor_run_process_bytes"
        page = wait_until(lambda: found if name in (found := read(told)) else None)
        assert page is not None
        assert page[name] == 5.0
        assert page["kmonitor_hub_trainings"] == 1.0
        wait_until(lambda: collector.received)
        assert "kmonitor_hub_info" in collector.received[0].metrics
        assert told.otlp == f"{collector.url}/v1/metrics"
    assert idle_hub.stop() == 0


def test_a_collector_that_is_away_is_its_trouble_and_it_stops(
    idle_hub: LiveHub, refusing_url: str
):
    idle_hub.start("--otlp", refusing_url)

    def troubles() -> list[str]:
        told = request_local_hub(idle_hub.folders, timeout_s=5.0)
        return [] if told is None else told.troubles

    (trouble,) = wait_until(troubles)
    where = f"{refusing_url}/v1/metrics"
    why = "Connection refused"
    assert trouble.startswith(f"metrics are not reaching the collector at {where} ({why}): ")
    assert idle_hub.stop() == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--prometheus", "9188"), '--prometheus: "9188" is not an address'),
        (("--otlp", "here"), '"here" is not a valid collector address'),
    ],
)
def test_it_does_not_start_with_what_is_no_address(
    idle_hub: LiveHub, options: tuple[str, ...], says: str
):
    process = idle_hub.spawn(*options)

    assert process.wait(DEADLINE_S) == 4
    assert process.stderr is not None
    assert says in process.stderr.read()


@pytest.mark.parametrize(
    ("url", "state", "who"),
    [
        ("http://127.0.0.1:9188/metrics", "ok", "every user of this host"),
        ("http://0.0.0.0:9188/metrics", "note", "anyone who can reach that port"),
    ],
)
def test_doctor_says_who_may_read(url: str, state: str, who: str):
    (finding,) = metrics_findings(msgspec.structs.replace(told_hub(), prometheus=url))

    assert finding.state == state
    assert who in finding.found
    assert ("127.0.0.1:9188" in finding.remedy) == (state == "note")
