"""Exporters of the hub's metrics, opened only if requested by name."""

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kmonitor.base.installation import how_to_add
from kmonitor.hub.access.network_endpoint import BindAddress, NetworkRefused, parse_bind
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.log import LOG
from kmonitor.hub.metrics.metric_values import ExporterRefused, SnapshotHolder
from kmonitor.hub.metrics.snapshot import HubSnapshot, RunMetricsStore
from kmonitor.hub.runs.registry import RunRegistry
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import AnyEvent

if TYPE_CHECKING:
    from kmonitor.hub.metrics.otlp import OtlpSender
    from kmonitor.hub.metrics.prometheus import PrometheusPage

PUBLISH_EVERY_S: Final = 1.0
"""Interval at which the hub's loop publishes a snapshot, seconds."""

_METRICS_PATH: Final = "/v1/metrics"
_CONTROL: Final = re.compile(r"[\s\x00-\x1f\x7f]")


class MetricsExporters:
    """Owned by the hub's main thread; each exporter has threads of its own, which only read."""

    def __init__(self, faults: HubFaults) -> None:
        """Open no exporter; `serve` and `send` open one each."""
        self._faults = faults
        self._metrics_store = RunMetricsStore()
        self._snapshot_holder = SnapshotHolder()
        self._page: PrometheusPage | None = None
        self._sender: OtlpSender | None = None
        self._endpoint = ""

    @property
    def page_url(self) -> str:
        """Address of the page for Prometheus; empty: there is none."""
        return "" if self._page is None else self._page.url

    @property
    def endpoint(self) -> str:
        """Address of the collector; empty: none."""
        return self._endpoint

    def serve(self, bind: str) -> None:
        """Serve a page for Prometheus at `ADDRESS:PORT`.

        Raises:
            ExporterRefused: It is no address, the library is not installed, or it cannot listen.
        """
        address = page_address(bind)
        try:
            from kmonitor.hub.metrics.prometheus import PrometheusPage  # noqa: PLC0415 - an extra
        except ImportError as exc:
            raise _not_installed("--prometheus", "prometheus-client", "prometheus", exc) from exc
        self._page = PrometheusPage(address, self._snapshot_holder)
        who = (
            "every user of this host"
            if address.ip.is_loopback
            else "anyone who can reach this port"
        )
        log = LOG.info if address.ip.is_loopback else LOG.warning
        log(
            "metrics are served at %s without authentication: %s can read them",
            self._page.url,
            who,
        )

    def send(self, url: str, *, hub: str, host: str) -> None:
        """Send metrics to the OpenTelemetry collector at `url`.

        Raises:
            ExporterRefused: It is no such address, or the SDK is not installed.
        """
        endpoint = metrics_endpoint(url)
        try:
            from kmonitor.hub.metrics.otlp import OtlpSender  # noqa: PLC0415 - an extra
        except ImportError as exc:
            raise _not_installed("--otlp", "the OpenTelemetry SDK", "otlp", exc) from exc
        self._sender = OtlpSender(endpoint, self._snapshot_holder, hub=hub, host=host)
        self._endpoint = endpoint
        LOG.info("figures are sent to %s", endpoint)

    def on_event(self, record: RunRecord, event: AnyEvent | None) -> None:
        with self._faults.guarded("figures"):
            self._metrics_store.on_event(record, event)

    def publish(self, hub: HubSnapshot, registry: RunRegistry, now_s: float) -> None:
        """Publish a snapshot of the present state. Args: `now_s`: monotonic time."""
        self._snapshot_holder.lay(self._metrics_store.snapshot(hub, registry.all(), now_s))

    def trouble(self) -> str:
        """Trouble of an exporter, without a full stop; empty: none."""
        return "" if self._sender is None else self._sender.trouble

    def close(self) -> None:
        if self._page is not None:
            self._page.close()
        if self._sender is not None:
            self._sender.close()


def metrics_endpoint(url: str) -> str:
    """The address for metrics at a collector, given by its base address or in full.

    Raises:
        ExporterRefused: It is no such address.
    """
    remedy = "Use the collector's address, such as http://127.0.0.1:4318."
    try:
        split = urlsplit(url)
        is_good = split.scheme in {"http", "https"} and bool(split.hostname)
        is_good = is_good and (split.port is None or split.port > 0)
    except ValueError:
        is_good = False
        split = urlsplit("")
    if not is_good or _CONTROL.search(url) or split.query or split.fragment:
        raise ExporterRefused(f'"{url}" is not a valid collector address.', remedy)
    if "@" in split.netloc:
        # Everybody who can list processes can read the command line.
        raise ExporterRefused(
            "--otlp: leave the password out of the address, where other users could read it.",
            "Put it in the environment variable OTEL_EXPORTER_OTLP_HEADERS, such as"
            ' "Authorization=Basic ...".',
        )
    path = split.path.rstrip("/")
    return f"{split.scheme}://{split.netloc}{path.removesuffix(_METRICS_PATH)}{_METRICS_PATH}"


def is_loopback(url: str) -> bool:
    """True if only this host reaches a page, by its numeric address."""
    return ip_address(urlsplit(url).hostname or "").is_loopback


def page_address(bind: str) -> BindAddress:
    """Address from `--prometheus ADDRESS:PORT`. Raises: `ExporterRefused`: it is no address."""
    try:
        return parse_bind(bind)
    except NetworkRefused as exc:
        raise ExporterRefused(
            f"--prometheus: {exc.what}",
            "Use the form ADDRESS:PORT, such as 127.0.0.1:9188 for this host only; with a "
            "network address, anyone who can reach the port can read the metrics without "
            "authentication.",
        ) from exc


def _not_installed(option: str, what: str, extra: str, exc: ImportError) -> ExporterRefused:
    lacks = f"{option} needs {what}, which cannot be imported here ({exc})."
    return ExporterRefused(lacks, how_to_add(extra))
