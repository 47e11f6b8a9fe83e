"""A page of metrics for Prometheus, served by threads of its own; alone imports its library."""

import math
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from socket import AF_INET, AF_INET6
from socketserver import TCPServer
from time import monotonic
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from typing_extensions import override

from kmonitor.hub.access.network_endpoint import BindAddress
from kmonitor.hub.metrics.metric_values import (
    ExporterRefused,
    Point,
    SnapshotHolder,
    points_by_metric,
)

PAGE: Final = "/metrics"

_MOST_AT_ONCE: Final = 4
_OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0"
_WRITE_EVERY_S: Final = 1.0
_PATIENCE_S: Final = 5.0
"""Time after which a reader that neither sends nor takes anything is dropped, seconds."""

_POLL_S: Final = 0.1
_JOIN_S: Final = 5.0
_INDEX: Final = b"kmonitor hub: figures for Prometheus are at /metrics\n"

_UNITS: Final = {
    "By": "bytes",
    "s": "seconds",
    "Cel": "celsius",
    "W": "watts",
    "Hz": "hertz",
    "1": "ratio",
}


class PrometheusPage:
    """Serves `/metrics`; owns the thread `kmonitor-hub-prometheus` and at most four for readers.

    There is no authentication: whoever reaches the port may read.
    """

    def __init__(self, bind: BindAddress, holder: SnapshotHolder) -> None:
        """Listen, and serve from now on.

        Args:
            bind: Address; port 0: any free port.

        Raises:
            ExporterRefused: It cannot listen there.
        """
        try:
            self._server = _Server(bind, holder)
        except OSError as exc:
            raise ExporterRefused(
                f"--prometheus cannot listen on {bind.host}:{bind.port}: {exc.strerror or exc}.",
                "Choose one of this host's addresses and a free port.",
            ) from exc
        port = self._server.server_address[1]
        self.url = f"http://{bind.host}:{port}{PAGE}"
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            args=(_POLL_S,),
            name="kmonitor-hub-prometheus",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening; open connections are abandoned."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_JOIN_S)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, bind: BindAddress, holder: SnapshotHolder) -> None:
        self.address_family = AF_INET if bind.ip.version == 4 else AF_INET6  # noqa: PLR2004
        self.snapshot_holder = holder
        self.is_local = bind.ip.is_loopback
        self._room = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._writing = threading.Lock()
        self._written: dict[str, tuple[float, bytes]] = {}
        super().__init__((str(bind.ip), bind.port), _Reader)

    def page(self, accept: str) -> tuple[bytes, str]:
        """The page and its content type; empty before the first snapshot.

        Written at most once per second and form, however many requests there are: writing competes
        with the hub's loop for the interpreter.

        Args:
            accept: Forms that the reader accepts.
        """
        # A reader may ask for many forms, but only two are written, each by itself.
        encode, kind = choose_encoder(_OPEN_METRICS if _is_open(accept) else "")
        with self._writing:
            written_s, text = self._written.get(kind, (-math.inf, b""))
            now_s = monotonic()
            if not text or now_s - written_s >= _WRITE_EVERY_S:
                found = self.snapshot_holder.points()
                families: Any = _Families(found)
                text = encode(families) if found else b""
                self._written[kind] = now_s, text
        return text, kind

    @override
    def server_bind(self) -> None:
        # `HTTPServer` would look this host's name up, which may ask a name server and take long.
        TCPServer.server_bind(self)

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)  # as many as may are being served
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    @override
    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that went away is no fault, and is not shown on the hub's terminal."""


class _Reader(BaseHTTPRequestHandler):
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = _PATIENCE_S
    server_version = "kmonitor"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if self.server.is_local and not _is_of_this_host(self.headers.get("Host", "")):
            # A web page elsewhere may have its name lead here, and read what the browser may.
            self._answer(403, b"ask for this page by address, or as localhost\n")
        elif path == PAGE:
            self._send_metrics()
        elif path == "/":
            self._answer(200, _INDEX)
        else:
            self._answer(404, b"figures are at /metrics\n")

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: every scrape in the log would push out other records."""

    def _send_metrics(self) -> None:
        text, kind = self.server.page(self.headers.get("Accept", ""))
        if text:
            self._answer(200, text, kind)
        else:
            self._answer(503, b"the hub is just starting\n")

    def _answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Families:
    """Registry for the library's encoders."""

    def __init__(self, found: Iterable[Point]) -> None:
        self._found = found

    def collect(self) -> Iterable[GaugeMetricFamily | CounterMetricFamily]:
        for definition, some in points_by_metric(self._found).items():
            kind = CounterMetricFamily if definition.kind == "counter" else GaugeMetricFamily
            unit = _UNITS.get(definition.unit, "")
            family = kind(definition.name, definition.about, labels=definition.labels, unit=unit)
            for point in some:
                family.add_metric([_printable(each) for each in point.labels], point.value)
            yield family


def _printable(label: str) -> str:
    """A label without control characters, which would act on the terminal of its reader."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in label)


def _is_open(accept: str) -> bool:
    return _OPEN_METRICS.partition(";")[0] in accept


def _is_of_this_host(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name in {"", "localhost"}:
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
