"""Searches of what a script keeps see one test module; no script has as many as all tests."""

import pytest


@pytest.fixture
def this_module_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the modules of all other tests."""
    of_script = "kmonitor_agent.frameworks.script_files.MODULES.of_script"
    name = request.module.__name__
    monkeypatch.setattr(of_script, lambda: [name])
