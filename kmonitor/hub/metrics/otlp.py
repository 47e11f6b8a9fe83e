"""Sender of metrics to an OpenTelemetry collector by OTLP over HTTP; alone imports its SDK."""

import logging
import re
import threading
import time
from typing import Any, Final

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from typing_extensions import override

from kmonitor.hub.log import LOG
from kmonitor.hub.metrics.metric_table import MetricDefinition
from kmonitor.hub.metrics.metric_values import Point, SnapshotHolder, points_by_metric
from kmonitor_agent.wire.release import VERSION

SEND_EVERY_S: Final = 15.0

_PATIENCE_S: Final = 5.0
"""Maximum duration of an attempt, with the SDK's own retries, seconds."""

_JOIN_S: Final = 1.0
_LONGEST_TEXT: Final = 300
_CAUSES: Final = (
    re.compile(r"\[Errno -?\d+\] ([^\"'\])]+)"),
    re.compile(r"(Read timed out)"),
    re.compile(r"\[SSL: \w+\] ([^(]+?) \(_ssl"),
    re.compile(r"code: (\d+, reason: .+)"),
)
_SDK_LOG: Final = logging.getLogger("opentelemetry")


class OtlpSender:
    """Owns the thread `kmonitor-hub-otlp`, which alone waits for the collector.

    Attributes:
        trouble: Why the collector lacks the newest metrics; empty: it has them. Any thread.
    """

    def __init__(
        self,
        endpoint: str,
        holder: SnapshotHolder,
        *,
        hub: str,
        host: str,
        every_s: float = SEND_EVERY_S,
    ) -> None:
        """Send from now on.

        Args:
            endpoint: The collector's address for metrics, with its path.
            hub: The hub's id.
            every_s: Time between two exports, seconds.
        """
        self.trouble = ""
        self._endpoint = endpoint
        self._snapshot_holder = holder
        self._every_s = every_s
        self._sent = {"done": 0, "failed": 0}
        holder.lay_exports(self._sent)
        self._started_ns = time.time_ns()
        self._sdk_log = _SdkLog()
        self._resource = Resource.create(
            {
                "service.name": "kmonitor-hub",
                "service.version": VERSION,
                "service.instance.id": hub,
                "host.name": host,
            }
        )
        # Proxies and passwords in the environment are not meant for this collector.
        session = requests.Session()
        session.trust_env = False
        session.hooks["response"] = [_refuse_elsewhere]
        # Some of its signatures are not typed.
        self._exporter: Any = OTLPMetricExporter(
            endpoint=endpoint, timeout=_PATIENCE_S, session=session
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-hub-otlp", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send no more; an export to a collector that hangs is abandoned."""
        self._is_over.set()
        self._exporter.shutdown()
        self._thread.join(_JOIN_S)
        self._sdk_log.detach()

    def _main(self) -> None:
        wait_s = 0.0
        while not self._is_over.wait(wait_s):
            found = self._snapshot_holder.points()
            wait_s = self._every_s if found else min(0.1, self._every_s)
            if found:
                self._send(found)

    def _send(self, found: list[Point]) -> None:
        try:
            is_sent = self._exporter.export(self._data(found)) is MetricExportResult.SUCCESS
            why = "" if is_sent else self._sdk_log.pop_message()
        except Exception as exc:  # noqa: BLE001 - a thread's main: the next attempt may do
            is_sent = False
            why = f"{type(exc).__name__}: {exc}"
        if self._is_over.is_set() and not is_sent:
            return  # cut short by the hub's own end
        self._sent["done" if is_sent else "failed"] += 1
        self._snapshot_holder.lay_exports(self._sent)
        self._report(why[:_LONGEST_TEXT] if not is_sent else "")

    def _report(self, why: str) -> None:
        trouble = ""
        if why:
            trouble = (
                f"metrics are not reaching the collector at {self._endpoint} ({why}): "
                "current values will be sent once it responds"
            )
        if bool(trouble) != bool(self.trouble):
            if trouble:
                LOG.warning("%s", trouble)
            else:
                LOG.info("figures reach the collector at %s", self._endpoint)
        self.trouble = trouble

    def _data(self, found: list[Point]) -> MetricsData:
        now_ns = time.time_ns()
        metrics = [
            self._metric(figure, some, now_ns) for figure, some in points_by_metric(found).items()
        ]
        scope = ScopeMetrics(InstrumentationScope("kmonitor", VERSION), metrics, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def _metric(self, definition: MetricDefinition, some: list[Point], now_ns: int) -> Metric:
        is_counter = definition.kind == "counter"
        values = [
            NumberDataPoint(
                attributes=dict(zip(definition.labels, point.labels, strict=True)),
                start_time_unix_nano=self._started_ns if is_counter else 0,
                time_unix_nano=now_ns,
                value=float(point.value),  # a whole number would be of another type
            )
            for point in some
        ]
        data = Gauge(values)
        if is_counter:
            data = Sum(values, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return Metric(definition.name, definition.about, definition.unit, data)


class _SdkLog(logging.Handler):
    """Takes the SDK's error messages, in place of standard error."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last_message = ""
        self._did_propagate = _SDK_LOG.propagate
        _SDK_LOG.propagate = False
        _SDK_LOG.addHandler(self)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # The first words of an attempt say why, those after it that it was given up.
        self._last_message = self._last_message or " ".join(record.getMessage().split())

    def pop_message(self) -> str:
        """Its messages about this attempt, which are then forgotten."""
        message, self._last_message = self._last_message, ""
        return _plain(message) if message else "it refused them"

    def detach(self) -> None:
        """Let the SDK log as before."""
        _SDK_LOG.removeHandler(self)
        _SDK_LOG.propagate = self._did_propagate


def _plain(message: str) -> str:
    """The cause alone, from a message in which the libraries wrapped it."""
    for cause in _CAUSES:
        if found := cause.search(message):
            return found[1]
    return message


def _refuse_elsewhere(response: requests.Response, **_: Any) -> None:
    # Another place was not named, and to the SDK being sent there counts as being received.
    if response.is_redirect:
        where = response.headers.get("location", "")
        response.close()
        raise requests.TooManyRedirects(f"it redirects to another address: {where[:100]}")
