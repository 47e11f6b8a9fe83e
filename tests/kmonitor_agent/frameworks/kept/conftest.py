"""Searches of what a script keeps see one test module; no script has as many as all tests."""

import pytest

from kmonitor_agent.frameworks import script_files


@pytest.fixture
def this_module_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the modules of all other tests."""
    name = request.module.__name__
    monkeypatch.setattr(script_files.MODULES, "of_script", lambda: [name])
