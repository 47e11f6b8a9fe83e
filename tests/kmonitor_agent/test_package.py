"""Importing the agent: light, without a framework, names on demand."""

import subprocess
import sys

import pytest

import kmonitor_agent

LOADED = """
import sys
{statement}
heavy = {{"keras", "tensorflow", "jax", "torch", "numpy", "zmq", "h5py"}}
of_a_run = {{"kmonitor_agent.link.link", "kmonitor_agent.recording.fit"}}
print(sorted((heavy | of_a_run) & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "statement", ["import kmonitor_agent", "from kmonitor_agent import Limit, MonitorCallback"]
)
def test_import_loads_no_framework_and_nothing_that_only_a_run_needs(statement: str):
    code = LOADED.format(statement=statement)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_names_resolve_on_demand():
    assert kmonitor_agent.Limit("graph", 5).spec.value == 5
    assert {"Limit", "MonitorCallback", "restore", "__version__"} <= set(dir(kmonitor_agent))
    assert all(hasattr(kmonitor_agent, name) for name in kmonitor_agent.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Monitor'"):
        _ = kmonitor_agent.Monitor  # pyright: ignore[reportAttributeAccessIssue]
