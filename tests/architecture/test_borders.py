"""Calls and imports that are forbidden per folder; import-linter checks the layers."""

import ast
import functools
import re
import subprocess
import sys

import pytest

from tests.support.capabilities import CAPABILITIES
from tests.support.running_tests import LONG
from tests.support.source_tree import SourceFile, product_files, source_files, top
from tests.support.waiting import DEADLINE_S

FRAMEWORKS = {"jax", "keras", "tensorflow", "tf_keras", "torch"}

CAN_RUN_WHAT_IT_READS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
"""Modules that execute what a file or a socket says."""

CARRIES_FUNCTIONS = "kmonitor_agent/studies/carried_function.py"
"""Makes a pickle of the script's function, which a fold's process of that script loads."""

RUNS_TEXT = {"eval", "exec", "compile"}

CARRIES_PICKLES = {"recv_pyobj", "send_pyobj", "recv_serialized", "read_pickle", "to_pickle"}

NOT_IN_A_TRAINING = {"PySide6", "shiboken6", "pyqtgraph", "sqlite3", "kmonitor", *FRAMEWORKS}
"""Packages that importing the agent must not load into a user's training process."""


Imported = tuple[str, int]
"""A module, and the line that imports it."""


@functools.cache
def imported(file: SourceFile) -> tuple[Imported, ...]:
    """Every import, wherever in the file it stands."""
    return tuple((module, statement.lineno) for module, statement in file.imported())


def run_at_import(file: SourceFile) -> set[int]:
    """Lines of the statements at module level, outside `if TYPE_CHECKING`."""
    pending: list[ast.AST] = list(file.tree.body)
    lines: set[int] = set()
    while pending:
        node = pending.pop()
        lines.add(getattr(node, "lineno", 0))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            pending += [
                one
                for one in ast.iter_child_nodes(node)
                if isinstance(one, ast.stmt | ast.ExceptHandler)
            ]
    return lines


def imported_early(file: SourceFile) -> list[Imported]:
    """The frameworks that a file's own import would import."""
    found = [each for each in imported(file) if top(each[0]) in FRAMEWORKS]
    lines = run_at_import(file) if found else set[int]()
    return [each for each in found if each[1] in lines]


def test_no_framework_is_imported_before_it_is_needed():
    early = [
        f"{file.name}:{line} {module}"
        for file in product_files()
        for module, line in imported_early(file)
    ]

    assert not early


def test_an_import_at_module_level_is_seen():
    text = """
import keras
try:
    import jax
except ImportError:
    import torch
if TYPE_CHECKING:
    import tf_keras
def used():
    import tensorflow
"""

    early = imported_early(SourceFile("text.py", text))

    assert [module for module, _ in early] == ["keras", "jax", "torch"]


@pytest.mark.promise(6)
def test_nothing_that_executes_what_it_reads_is_imported():
    dangerous = [
        f"{file.name}:{line} {module}"
        for file in product_files()
        for module, line in imported(file)
        if top(module) in CAN_RUN_WHAT_IT_READS and file.name != CARRIES_FUNCTIONS
    ]

    assert not dangerous


@pytest.mark.promise(6)
def test_a_pickle_is_loaded_by_a_folds_process_alone_from_the_socket_it_inherits():
    files = {file.name: file for file in product_files()}
    loads = [
        ast.unparse(call)
        for call in files[CARRIES_FUNCTIONS].calls()
        if isinstance(call.func, ast.Attribute) and call.func.attr in {"load", "loads"}
    ]
    importers = [
        name
        for name, file in files.items()
        if "carried_function" in file.text  # parses no other
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "kmonitor_agent.studies.carried_function"
        and any(alias.name == "load" for alias in node.names)
    ]

    assert sorted(each.partition("(")[0] for each in loads) == ["np.load", "pickle.loads"]
    assert importers == ["kmonitor_agent/studies/fold_child.py"]
    assert "load(connection.function(job))" in files[importers[0]].text


@pytest.mark.promise(6)
def test_no_text_is_run_and_no_pickle_is_carried():
    dangerous = [
        f"{file.name}:{call.lineno}"
        for file in product_files()
        for call in file.calls()
        if (isinstance(call.func, ast.Name) and call.func.id in RUNS_TEXT)
        or (isinstance(call.func, ast.Attribute) and call.func.attr in CARRIES_PICKLES)
        or any(word.arg == "allow_pickle" and not _is_false(word.value) for word in call.keywords)
    ]

    assert not dangerous


def test_every_thread_is_named_after_us():
    nameless = [
        f"{file.name}:{call.lineno}"
        for file in product_files()
        if "Thread" in file.text
        for call in file.calls()
        if ast.unparse(call.func) in {"threading.Thread", "Thread"}
        and not any(word.arg == "name" for word in call.keywords)
    ]

    assert not nameless


def test_no_test_sleeps():
    asleep = [
        f"{file.name}:{call.lineno}"
        for file in source_files("tests")
        if "/test_" in file.name  # a program in support/ that paces itself is another process
        if "sleep" in file.text.lower()
        for call in file.calls()
        if ast.unparse(call.func) in {"time.sleep", "sleep", "QTest.qSleep"}
    ]

    assert not asleep


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["kmonitor_agent", "kmonitor_agent.MonitorCallback"])
def test_importing_the_agent_loads_neither_app_nor_database_nor_framework(wanted: str):
    code = f"import kmonitor_agent, sys; {wanted}; print(*sys.modules)"

    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=2 * DEADLINE_S,
    )

    loaded = {top(name) for name in told.stdout.split()}
    assert not loaded & NOT_IN_A_TRAINING


@pytest.mark.slow
@pytest.mark.parametrize("package", ["kmonitor.cli.main", "kmonitor.hub", "kmonitor.ui"])
def test_the_terminal_and_the_hub_need_no_qt(package: str):
    code = f"import sys, {package}; print(*sys.modules)"

    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=2 * DEADLINE_S,
    )

    loaded = {top(name) for name in told.stdout.split()}
    assert not loaded & {"PySide6", "shiboken6", "pyqtgraph", *FRAMEWORKS}


WITHOUT_QT = """
import importlib, sys

for name in ("PySide6", "shiboken6", "pyqtgraph"):
    sys.modules[name] = None
for module in sys.argv[1:]:
    importlib.import_module(module)
"""


@LONG
@pytest.mark.slow
def test_all_but_what_is_painted_can_be_imported_without_qt():
    missing_too = tuple(
        module
        for one in CAPABILITIES
        if one.marker != "gui" and one.missing()
        for module in one.modules
    )
    names = [
        file.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for file in product_files()
        if not re.match(r"kmonitor/ui/(.*/)?(qt|widgets)/|.*__main__", file.name)
    ]
    modules = [name for name in names if not name.startswith(missing_too)]

    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_QT, *modules],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * DEADLINE_S,
    )

    assert len(modules) > 300
    assert ran.returncode == 0, ran.stderr


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False
