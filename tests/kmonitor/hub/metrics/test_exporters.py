"""Errors before metrics leave the hub name the setting and the remedy."""

import logging
import subprocess
import sys

import pytest

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.metrics.exporters import MetricsExporters, is_loopback, metrics_endpoint
from kmonitor.hub.metrics.metric_values import ExporterRefused


@pytest.fixture
def outlets() -> MetricsExporters:
    return MetricsExporters(HubFaults(logging.getLogger("kmonitor.test-hub")))


@pytest.mark.parametrize("bind", ["9188", ":9188", "127.0.0.1", "127.0.0.1:99999", "http://x:1"])
def test_what_is_no_address_to_listen_on_is_refused(outlets: MetricsExporters, bind: str):
    with pytest.raises(ExporterRefused, match=r"--prometheus: .*127\.0\.0\.1:9188"):
        outlets.serve(bind)


@pytest.mark.parametrize(
    ("module", "option", "extra"),
    [("prometheus_client", "--prometheus", "prometheus"), ("opentelemetry", "--otlp", "otlp")],
)
def test_a_library_that_is_not_here_is_named_with_its_extra(
    outlets: MetricsExporters,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    option: str,
    extra: str,
):
    for name in list(sys.modules):
        if name in {"kmonitor.hub.metrics.prometheus", "kmonitor.hub.metrics.otlp"}:
            monkeypatch.delitem(sys.modules, name)
        elif name.startswith(f"{module}."):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)

    def ask() -> None:
        if extra == "otlp":
            outlets.send("http://127.0.0.1:4318", hub="h", host="here")
        else:
            outlets.serve("127.0.0.1:0")

    with pytest.raises(ExporterRefused, match=f"{option} needs") as failure:
        ask()

    assert f'pip install ".[{extra}]"' in failure.value.remedy


@pytest.mark.parametrize(
    "url",
    ["", "host:4318", "ftp://host", "http://", "http://host:x", "http://a b/", "http://h/?q=1"],
)
def test_what_is_no_address_of_a_collector_is_refused(url: str):
    with pytest.raises(ExporterRefused, match=r"is not a valid collector address.*http://127"):
        metrics_endpoint(url)


def test_a_password_in_the_address_is_refused_without_telling_it():
    with pytest.raises(ExporterRefused, match="OTEL_EXPORTER_OTLP_HEADERS") as failure:
        metrics_endpoint("http://me:secret@host:4318")

    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://host:4318", "http://host:4318/v1/metrics"),
        ("http://host:4318/", "http://host:4318/v1/metrics"),
        ("https://host/otlp", "https://host/otlp/v1/metrics"),
        ("http://host/v1/metrics/", "http://host/v1/metrics"),
    ],
)
def test_metrics_have_their_own_path_at_a_collector(url: str, endpoint: str):
    assert metrics_endpoint(url) == endpoint


def test_who_is_let_in_is_told_by_the_address():
    assert is_loopback("http://127.0.0.1:9188/metrics")
    assert is_loopback("http://[::1]:9188/metrics")
    assert not is_loopback("http://0.0.0.0:9188/metrics")


def test_a_hub_that_was_not_asked_loads_neither_library():
    code = (
        "import sys, kmonitor.hub.service, kmonitor.cli.main;"
        "names = ('prometheus_client', 'opentelemetry', 'requests');"
        "print([name for name in names if name in sys.modules])"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"
