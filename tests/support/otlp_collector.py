"""A small OpenTelemetry collector: takes metrics by OTLP over HTTP, reads them by its types."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from typing_extensions import override

from tests.support.waiting import wait_until


@dataclass(slots=True)
class Received:
    """One request.

    Attributes:
        path: Path that it was sent to.
        resource: Attributes of its sender.
        metrics: Protobuf's own metrics by name.
    """

    path: str
    resource: dict[str, str]
    metrics: dict[str, Any] = field(default_factory=dict)

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """Values of a metric by those of its attributes, in the order of their names."""
        metric = self.metrics[name]
        data = metric.sum if metric.HasField("sum") else metric.gauge
        return {_sorted(point): point.as_double for point in data.data_points}


class Collector:
    """Serves on loopback until it is closed.

    Attributes:
        url: Its base address.
        received: Requests so far.
        status: Status of its answers.
        location: Target of a redirect, with a status of the 3xx.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.status = 200
        self.location = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def next_with(self, name: str) -> Received:
        """Wait for a request that comes from now on and has this metric."""
        before = len(self.received)
        return wait_until(
            lambda: next((one for one in self.received[before:] if name in one.metrics), None)
        )  # type: ignore[return-value]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if collector.status == 200:
                    collector.received.append(_read(self.path, body))
                answer = ExportMetricsServiceResponse().SerializeToString()
                self.send_response(collector.status)
                self.send_header("Content-Length", str(len(answer)))
                if collector.location:
                    self.send_header("Location", collector.location)
                self.end_headers()
                self.wfile.write(answer)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


@pytest.fixture
def collector() -> Iterator[Collector]:
    """One that answers."""
    collector = Collector()
    yield collector
    collector.close()


def _read(path: str, body: bytes) -> Received:
    request = ExportMetricsServiceRequest.FromString(body)
    (of_resource,) = request.resource_metrics
    attributes = {one.key: one.value.string_value for one in of_resource.resource.attributes}
    (of_scope,) = of_resource.scope_metrics
    assert of_scope.scope.name == "kmonitor"
    return Received(path, attributes, {metric.name: metric for metric in of_scope.metrics})


def _sorted(point: Any) -> tuple[str, ...]:
    pairs = sorted((one.key, one.value.string_value) for one in point.attributes)
    return tuple(value for _, value in pairs)
