"""The page that Prometheus reads: real HTTP, read with its own parsers."""

import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from kmonitor.hub.access.network_endpoint import parse_bind
from kmonitor.hub.metrics.metric_values import ExporterRefused, SnapshotHolder
from kmonitor.hub.metrics.prometheus import PrometheusPage
from kmonitor.hub.metrics.snapshot import RunMetricsStore
from kmonitor_agent.wire.messages.events import Sample
from tests.support.hub_figures import shelf
from tests.support.hub_parts import HubParts
from tests.support.hub_parts import parts as parts  # noqa: PLC0414 - a fixture
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.prometheus_client

OPEN = "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def page(parts: HubParts) -> Iterator[PrometheusPage]:
    book = RunMetricsStore()
    parts.event_log.listeners.append(book.on_event)
    record = parts.started_run(pid=1)
    record.name = 'a "quoted"\\\nname\x1b[2J'
    parts.take(record, Sample(t_s=1.0, ram_process_bytes=5.0))
    page = PrometheusPage(parse_bind("127.0.0.1:0"), shelf(book, [record]))
    yield page
    page.close()


def ask(page: PrometheusPage, path: str = "/metrics", **headers: str) -> tuple[int, str, str]:
    """Status, content type and text."""
    parts = urlsplit(page.url)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=DEADLINE_S)
    link.request("GET", path, headers=headers)
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    return answer.status, answer.headers["Content-Type"], text


def samples(families: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


@pytest.mark.parametrize(
    ("accept", "parse", "kind"),
    [("", parse_text, "text/plain"), (OPEN, parse_openmetrics, "application/openmetrics-text")],
    ids=["text", "openmetrics"],
)
def test_prometheus_own_parser_reads_it(page: PrometheusPage, accept: str, parse: Any, kind: str):
    status, told_kind, text = ask(page, Accept=accept)

    assert status == 200
    assert told_kind.startswith(kind)
    read = samples(parse(text))
    [resident] = read["kmonitor_run_process_bytes"]
    assert resident.value == 5.0
    # Control characters would act on a terminal.
    assert resident.labels["name"] == 'a "quoted"\\\ufffdname\ufffd[2J'
    assert read["kmonitor_hub_faults_total"][0].labels == {"part": "gap"}
    assert "kmonitor_run_vram_bytes" not in read


def test_other_paths_are_told_where_the_page_is(page: PrometheusPage):
    assert ask(page, "/")[0] == 200
    assert ask(page, "/metrics?x=1")[0] == 200
    assert ask(page, "/nothing")[:1] + ask(page, "/nothing")[2:] == (
        404,
        "figures are at /metrics\n",
    )


@pytest.mark.promise(25)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:9188", "metrics"])
def test_a_page_of_this_host_alone_is_not_read_under_another_name(page: PrometheusPage, host: str):
    assert ask(page, Host=host)[0] == 403
    assert ask(page, Host="localhost:9188")[0] == 200
    assert ask(page, Host="[::1]:9188")[0] == 200


def test_an_address_that_is_taken_is_told(page: PrometheusPage):
    taken = urlsplit(page.url).netloc

    with pytest.raises(ExporterRefused, match=f"cannot listen on {taken}: Address already in use"):
        PrometheusPage(parse_bind(taken), SnapshotHolder())


@pytest.mark.promise(25)
def test_readers_that_hang_do_not_pile_up_and_others_come_through_after(page: PrometheusPage):
    parts = urlsplit(page.url)
    hung = [socket.create_connection((parts.hostname, parts.port or 0)) for _ in range(40)]
    try:
        working = [t for t in threading.enumerate() if "process_request_thread" in t.name]
        assert len(working) <= 4
    finally:
        for each in hung:
            each.close()

    wait_until(lambda: is_answered(page), what="an answer")


def is_answered(page: PrometheusPage) -> bool:
    try:
        return ask(page)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_however_often_it_is_asked_it_is_written_once_a_second(
    page: PrometheusPage, monkeypatch: pytest.MonkeyPatch
):
    written: list[int] = []
    points = SnapshotHolder.points

    def counted(shelf: SnapshotHolder) -> Any:
        written.append(1)
        return points(shelf)

    monkeypatch.setattr(SnapshotHolder, "points", counted)
    now_s = 1e9
    monkeypatch.setattr("kmonitor.hub.metrics.prometheus.monotonic", lambda: now_s)
    pages = {ask(page, Accept=f"text/plain; version=1.0.{n}")[2] for n in range(5)}
    now_s += 1.0

    assert len(pages) == len(written) == 1
    assert ask(page)[0] == 200
    assert len(written) == 2


def test_nothing_is_shown_before_the_first_snapshot():
    page = PrometheusPage(parse_bind("127.0.0.1:0"), SnapshotHolder())
    try:
        assert ask(page)[0] == 503
    finally:
        page.close()


def test_it_ends_with_its_threads_and_leaves_the_port_free(page: PrometheusPage):
    where = urlsplit(page.url).netloc
    page.close()

    assert not [t for t in threading.enumerate() if t.name.startswith("kmonitor-hub-prometheus")]
    again = PrometheusPage(parse_bind(where), SnapshotHolder())
    again.close()
