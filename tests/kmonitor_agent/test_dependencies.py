"""A package that is missing, or hidden by another of its name, is named with what to do."""

import subprocess
import sys
import types

import pytest

from kmonitor_agent.dependencies import check_dependencies


def test_what_is_installed_passes():
    check_dependencies()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "platformdirs", None)

    with pytest.raises(ImportError, match=r"needs platformdirs.*pip install.*platformdirs"):
        check_dependencies()


def test_a_module_of_the_scripts_in_its_place_is_named_with_its_file(
    monkeypatch: pytest.MonkeyPatch,
):
    other = types.ModuleType("psutil")
    other.__file__ = "/home/me/psutil.py"
    monkeypatch.setitem(sys.modules, "psutil", other)

    with pytest.raises(
        ImportError, match=r"/home/me/psutil.py belongs to something else.*no Process"
    ):
        check_dependencies()


@pytest.mark.parametrize("module", ["msgspec", "psutil", "platformdirs"])
@pytest.mark.parametrize("there", ["None", "type(sys)('empty')"])
def test_importing_the_callback_names_what_is_missing(module: str, there: str):
    code = f"import sys; sys.modules[{module!r}] = {there}; from kmonitor_agent import collect"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "ImportError: kmonitor needs" in ran.stderr
    assert f"pip install --force-reinstall {module}" in ran.stderr
