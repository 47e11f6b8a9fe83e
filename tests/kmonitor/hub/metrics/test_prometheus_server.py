"""A real Prometheus scrapes a real hub, and answers the dashboard's queries."""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from kmonitor.base.installation import resource_path
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import HubReply
from tests.support import live_hub
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S, wait_until

idle_hub = live_hub.idle_hub

pytestmark = [
    pytest.mark.prometheus_client,
    pytest.mark.prometheus_server,
    pytest.mark.full,
]

_CONFIG = """\
global:
  scrape_interval: 200ms
  scrape_timeout: 200ms
scrape_configs:
  - job_name: kmonitor
    static_configs:
      - targets: ["{target}"]
"""


class Prometheus:
    """A server in its own folder, with a client of its API."""

    def __init__(self, folder: Path, target: str) -> None:
        (folder / "prometheus.yml").write_text(_CONFIG.format(target=target), "utf-8")
        with socket.create_server(("127.0.0.1", 0)) as free:
            where = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{where}/api/v1"
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [
                    shutil.which("prometheus") or "",
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address={where}",
                ],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def ask(self, path: str, **values: str) -> Any:
        """An answer of its API, or None where it does not answer yet."""
        query = urllib.parse.urlencode(values)
        try:
            url = f"{self.url}/{path}?{query}"
            with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:  # noqa: S310 - http
                return json.load(answer)["data"]
        except (ConnectionError, urllib.error.URLError) as exc:
            if isinstance(exc, urllib.error.HTTPError) and exc.code != 503:
                raise AssertionError(f"{values}: {exc.read().decode()}") from exc
            return None

    def result(self, expression: str) -> list[Any]:
        """Present value of an expression."""
        found = self.ask("query", query=expression)
        return [] if found is None else found["result"]


@pytest.fixture
def told(idle_hub: LiveHub) -> Iterator[HubReply]:
    """A hub with one training."""
    told = idle_hub.start("--prometheus", "127.0.0.1:0")
    with SimulatedAgent(idle_hub.folders, name="net") as agent:
        agent.start_fit()
        agent.start_epoch()
        agent.sample(t_s=1.0)
        agent.emit(Sample(t_s=2.0, fit=1, ram_process_bytes=5.0, ram_unique_bytes=4.0))
        agent.end_epoch(loss=0.5)
        agent.wait_acked()
        yield told


@pytest.fixture
def prometheus(told: HubReply, tmp_path: Path) -> Iterator[Prometheus]:
    (tmp_path / "prometheus").mkdir()
    server = Prometheus(tmp_path / "prometheus", urlsplit(told.prometheus).netloc)
    yield server
    server.process.terminate()
    server.process.wait(DEADLINE_S)


def filled_in(expression: str) -> str:
    """An expression as Grafana sends it with everything chosen."""
    chosen = {"$run": ".*", "$log": ".*", "$__rate_interval": "1m"}
    for name, value in chosen.items():
        expression = expression.replace(name, value)
    return expression


def test_it_scrapes_the_hub_and_answers_the_dashboard(told: HubReply, prometheus: Prometheus):
    (resident,) = wait_until(
        lambda: prometheus.result("kmonitor_run_process_bytes"), 2 * DEADLINE_S
    )
    assert resident["metric"]["name"] == "net"
    assert float(resident["value"][1]) == 5.0
    (target,) = prometheus.ask("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")

    dashboard = json.loads(resource_path("grafana", "kmonitor.json").read_text(encoding="utf-8"))
    wait_until(lambda: prometheus.result("increase(kmonitor_run_reclaims_total[1m])"))
    empty = {
        panel["title"]
        for panel in dashboard["panels"]
        for target in panel["targets"][:1]
        if not prometheus.result(filled_in(target["expr"]))
    }
    # This training has no device, and nothing that grows.
    assert empty == {"Device", "Verdicts"}
    descriptions = prometheus.ask("metadata", metric="kmonitor_run_reclaims")  # OpenMetrics
    assert descriptions["kmonitor_run_reclaims"][0]["type"] == "counter"


def test_its_own_check_finds_nothing_wrong_with_the_names(told: HubReply):
    def page() -> bytes:
        with urllib.request.urlopen(told.prometheus, timeout=DEADLINE_S) as answer:  # noqa: S310 - http
            return answer.read()

    text = wait_until(lambda: found if b"kmonitor_run_log" in (found := page()) else None)
    checked = subprocess.run(
        [shutil.which("promtool") or "", "check", "metrics"],
        input=text,
        capture_output=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
