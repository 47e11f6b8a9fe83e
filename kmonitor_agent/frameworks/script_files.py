# pyright: basic
"""Modules and files of the script, among those of Python and of installed packages.

No code of the script's runs.
"""

import functools
import os
import sys
import sysconfig
from itertools import islice
from pathlib import Path
from typing import Final

from kmonitor_agent.frameworks.script_values import class_module, instance_dict, items_of

_INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OURS: Final = f"{Path(__file__).parents[1]}{os.sep}"
_STANDARD: Final = tuple(
    f"{path}{os.sep}" for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)


class _ModuleNames:
    """Names of the script's modules, a few among thousands of imported ones."""

    def __init__(self) -> None:
        self._n_modules = 0
        self._of_script: list[str] = []

    def of_script(self) -> list[str]:
        modules = sys.modules
        if len(modules) != self._n_modules:
            self._n_modules = len(modules)
            packages: dict[str, bool] = {}
            self._of_script = [
                name
                for name in list(modules)
                if type(name) is str and self._is_of_script(name, packages)
            ]
        return self._of_script

    @staticmethod
    def _is_of_script(name: str, packages: dict[str, bool]) -> bool:
        if name == "__main__":
            return True
        package = name.partition(".")[0]
        if package not in packages:
            path = instance_dict(sys.modules.get(package)).get("__file__")
            # One without a file of its own may lie beside the script, or not.
            packages[package] = package not in sys.stdlib_module_names and (
                path is None or is_script_file(path)
            )
        return packages[package] and is_script_file(
            instance_dict(sys.modules.get(name)).get("__file__")
        )


MODULES: Final = _ModuleNames()


def is_script_file(path: object) -> bool:
    """True for a file of the script's own, not one of Python, of a package or of kmonitor."""
    if type(path) is not str or path.startswith((_OURS, *_STANDARD)):
        return False
    if path.startswith("<frozen ") or any(part in path for part in _INSTALLED):
        return False
    # Another thing than text may run the script's code where it is asked for its text.
    folders = (each for each in items_of(instance_dict(sys).get("path")) if type(each) is str)
    return not path.startswith(_library_folders(tuple(islice(folders, 1, None))))


@functools.cache
def _library_folders(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these folders that packages were installed into, as `pip install --target` does."""
    return tuple(f"{path}{os.sep}" for path in paths if _has_packages(path))


def _has_packages(folder: str) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))  # noqa: PTH208 - names alone
    except OSError:
        return False


def is_of_script(kind: type) -> bool:
    """True for a class of one of the script's modules."""
    module = sys.modules.get(class_module(kind))
    return class_module(kind) == "__main__" or is_script_file(
        instance_dict(module).get("__file__")
    )
