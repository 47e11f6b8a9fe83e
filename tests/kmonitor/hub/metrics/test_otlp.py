"""Data that an OpenTelemetry collector receives, and behaviour while it is away."""

import threading
from collections.abc import Iterator

import pytest

from kmonitor.hub.metrics.metric_table import SENT
from kmonitor.hub.metrics.metric_values import SnapshotHolder
from kmonitor.hub.metrics.otlp import OtlpSender
from kmonitor.hub.metrics.snapshot import RunMetricsStore
from kmonitor_agent.wire.messages.events import Sample
from tests.support import otlp_collector
from tests.support.hub_figures import shelf
from tests.support.hub_parts import HubParts
from tests.support.hub_parts import parts as parts  # noqa: PLC0414 - a fixture
from tests.support.loopback import refusing_url as refusing_url  # noqa: PLC0414 - a fixture
from tests.support.otlp_collector import Collector
from tests.support.waiting import wait_until

pytestmark = pytest.mark.opentelemetry

collector = otlp_collector.collector


@pytest.fixture
def laid(parts: HubParts) -> SnapshotHolder:
    book = RunMetricsStore()
    parts.event_log.listeners.append(book.on_event)
    record = parts.started_run(pid=1)
    parts.take(record, Sample(t_s=1.0, ram_process_bytes=5.0))
    return shelf(book, [record])


@pytest.fixture
def sender(collector: Collector, laid: SnapshotHolder) -> Iterator[OtlpSender]:
    sender = sender_to(collector.url, laid)
    yield sender
    sender.close()


def sender_to(url: str, laid: SnapshotHolder) -> OtlpSender:
    return OtlpSender(f"{url}/v1/metrics", laid, hub="hub1", host="here", every_s=0.02)


def exports_of(laid: SnapshotHolder) -> dict[str, float]:
    """Exports by result, as they are on every way out of the hub."""
    return {p.labels[0]: p.value for p in laid.points() if p.metric_definition is SENT}


def test_a_collector_receives_the_same_figures_with_units(
    sender: OtlpSender, collector: Collector
):
    got = collector.next_with("kmonitor_run_process_bytes")

    assert got.path == "/v1/metrics"
    assert got.resource["service.instance.id"] == "hub1"
    assert got.resource["service.name"] == "kmonitor-hub"
    assert list(got.values("kmonitor_run_process_bytes").values()) == [5.0]
    assert got.metrics["kmonitor_run_process_bytes"].unit == "By"
    faults = got.metrics["kmonitor_hub_faults"]
    assert faults.sum.is_monotonic
    assert faults.sum.aggregation_temporality == 2  # cumulative
    assert got.values("kmonitor_hub_faults") == {("gap",): 3.0}
    assert "kmonitor_run_vram_bytes" not in got.metrics
    assert sender.trouble == ""


def test_a_collector_that_refuses_is_told_once_and_comes_back(
    sender: OtlpSender,
    collector: Collector,
    laid: SnapshotHolder,
    caplog: pytest.LogCaptureFixture,
):
    collector.next_with("kmonitor_hub_info")
    with caplog.at_level("ERROR", logger="kmonitor.hub"):
        collector.status = 400
        trouble = wait_until(lambda: sender.trouble)
        failed = wait_until(lambda: exports_of(laid).get("failed", 0) >= 3)
    collector.status = 200
    wait_until(lambda: not sender.trouble)

    assert failed
    where = f"{collector.url}/v1/metrics"
    assert f"the collector at {where} (400, reason: Bad Request)" in trouble
    got = collector.next_with("kmonitor_hub_otlp_exports")
    assert got.values("kmonitor_hub_otlp_exports")["failed",] >= 3
    assert list(exports_of(laid)) == ["done", "failed"]


def test_where_nothing_is_sent_nothing_is_counted(laid: SnapshotHolder):
    assert SENT not in {point.metric_definition for point in laid.points()}


def test_a_collector_that_speaks_no_tls_is_told_in_few_words(
    collector: Collector, laid: SnapshotHolder
):
    sender = sender_to(collector.url.replace("http://", "https://"), laid)
    try:
        trouble = wait_until(lambda: sender.trouble)
    finally:
        sender.close()

    assert "/v1/metrics (wrong version number): current" in trouble.lower()


@pytest.mark.promise(26)
def test_one_that_sends_elsewhere_is_not_followed(
    sender: OtlpSender, collector: Collector, caplog: pytest.LogCaptureFixture
):
    collector.next_with("kmonitor_hub_info")
    other = Collector()
    try:
        with caplog.at_level("ERROR", logger="kmonitor.hub"):
            collector.location, collector.status = f"{other.url}/v1/metrics", 307
            trouble = wait_until(lambda: sender.trouble)
        assert f"it redirects to another address: {other.url}" in trouble
        assert other.received == []
    finally:
        other.close()


def test_one_that_is_away_costs_only_the_senders_own_thread(
    laid: SnapshotHolder, refusing_url: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level("ERROR", logger="kmonitor.hub"):
        sender = sender_to(refusing_url, laid)
        sender.close()

    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "kmonitor-hub-otlp"])


@pytest.mark.promise(26)
def test_what_the_environment_names_is_not_asked(
    collector: Collector, laid: SnapshotHolder, monkeypatch: pytest.MonkeyPatch
):
    other = Collector()
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"):
        monkeypatch.setenv(name, other.url)
    monkeypatch.setenv("HTTP_PROXY", other.url)
    monkeypatch.setenv("http_proxy", other.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    sender = sender_to(collector.url, laid)
    try:
        collector.next_with("kmonitor_hub_info")
        assert other.received == []
    finally:
        sender.close()
        other.close()
