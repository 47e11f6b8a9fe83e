"""A real Ray cluster on this machine: three nodes' worth of processes, each with one processor."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray.cluster_utils import Cluster


class RayNodes:
    """The cluster, whose nodes can be killed.

    Attributes:
        home: Folder where its nodes keep kmonitor's files, unless they get the study's places.
    """

    def __init__(self, cluster: Any, home: Path) -> None:
        """Keep it, and where its nodes keep kmonitor's files."""
        self._cluster = cluster
        self.home = home

    @property
    def address(self) -> str:
        """As RAY_ADDRESS takes it."""
        return str(self._cluster.address)

    def kill_node_of(self, pid: int) -> None:
        """Kill the node, not the first one, that a fold's process belongs to, with all of it."""
        above = {each.pid for each in psutil.Process(pid).parents()}
        for node in self._cluster.worker_nodes:
            if above & {each.process.pid for each in node.all_processes["raylet"]}:
                self._cluster.remove_node(node, allow_graceful=False)
                self._cluster.add_node(num_cpus=1)
                return
        raise AssertionError("no node that may be killed has it")


@pytest.fixture(scope="module")
def ray_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    """Three nodes, and this process connected to them."""
    home = tmp_path_factory.mktemp("nodes")
    names = {"KMONITOR_HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    cluster: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    try:
        for _ in range(3):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        yield RayNodes(cluster, home)
    finally:
        ray.shutdown()
        cluster.shutdown()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
