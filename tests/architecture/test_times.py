"""No test asserts a duration, a CPU time or a rate: those are benchmarks, since machines differ.

A test may assert of time that a clock which it moves itself was heeded, which deadline was
requested, and that something happened before `DEADLINE_S`, which exposes hangs.
"""

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from tests.support.source_tree import SourceFile, source_files

CLOCKS = {
    "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
    "process_time_ns", "thread_time", "thread_time_ns", "getrusage", "cpu_times", "elapsed",
}  # fmt: skip
"""Functions that read a clock which no test moves. `monotonic_s` is that of `MovedClock`."""

MEASURED = re.compile(r"(^|_)(took|elapsed|latency|cpu|pauses?|delays?)(_|$)|_(ms|us|ns)$")
"""Names of what is measured, wherever the test gets it from."""

IN_SECONDS = re.compile(r"(^|_)(?<!monotonic_)(s|seconds|rate)$")
"""Names of times and rates, where processes run by the machine's clock."""

BY_THE_MACHINES_CLOCK = ("faults", "frameworks", "gui", "integration", "packaging")

WITHIN_A_SCRIPT = re.compile(
    r"(monotonic|perf_counter|process_time|thread_time)(_ns)?\(\) - "
    r"|print\([^\n]*(monotonic|perf_counter|process_time|thread_time)(_ns)?\(\)"
)
"""A program in a string that measures for the test."""

WAITS = {"communicate", "get", "join", "result", "run", "serve_until", "wait", "wait_until",
         "waitSignal", "waitUntil"}  # fmt: skip

ALLOWED: dict[str, str] = {}
"""`file::function` with its reason; none is needed."""


@pytest.mark.slow
def test_no_test_asserts_how_long_something_takes():
    found = [f"{place} compares {what}" for place, what in _all(comparisons)]

    assert found == []


def test_no_test_has_a_script_measure_for_it():
    found = [f"{place} measures: {what}" for place, what in _all(scripts)]

    assert found == []


@pytest.mark.slow
def test_no_test_waits_with_a_deadline_of_its_own():
    found = [f"{place} waits {what}; use DEADLINE_S" for place, what in _all(deadlines)]

    assert found == []


HELD = """
for _ in range(3):
    began = process_time()
    act()
    times.append(process_time() - began)
assert min(times) < LIMIT
"""

RESUMED = """
def resumed(client):
    began = time.monotonic()
    return time.monotonic() - began
found = resumed(client)
assert found < 2
"""


@pytest.mark.parametrize(
    "text",
    [
        "began_s = time.monotonic()\nassert time.monotonic() - began_s < 30.0",
        "is_quick = time.monotonic() - began < 0.1",
        HELD,
        RESUMED,
        "assert [b for b in loop.longest.values() if b.cpu_ms > MOST_BLOCK_MS] == []",
        "assert max(pauses_s) <= FOUND_S",
        "assert timer.elapsed() < 5",
        "assert 0 < link.elapsed_s < 5",
    ],
)
def test_a_duration_that_is_asserted_is_found(text: str):
    assert list(comparisons(SourceFile("tests/kmonitor/test_x.py", text)))


@pytest.mark.parametrize("text", ["assert found_s < 3.0", "assert 1.9 < told.per_s"])
def test_where_processes_run_the_name_is_enough(text: str):
    assert list(comparisons(SourceFile("tests/faults/test_x.py", text)))
    assert not list(comparisons(SourceFile("tests/kmonitor/test_x.py", text)))


@pytest.mark.parametrize(
    "text",
    [
        "end_s = time.monotonic() + 5\nwhile time.monotonic() < end_s:\n    act()",
        "assert outcome.seconds > 0",
        "assert clock.monotonic_s() < 5",
        "assert len(took) == 3",
    ],
)
def test_a_deadline_and_a_moved_clock_are_no_durations(text: str):
    assert not list(comparisons(SourceFile("tests/faults/test_x.py", text)))


Check = Callable[[SourceFile], Iterator[tuple[int, str]]]


def _all(check: Check) -> Iterator[tuple[str, str]]:
    for file in source_files("tests"):
        if "/test_" in file.name and "/benchmarks/" not in file.name and file.name != _OWN:
            for line, what in check(file):
                if f"{file.name}::{_function_at(file, line)}" not in ALLOWED:
                    yield f"{file.name}:{line}", what


_OWN = "tests/architecture/test_times.py"


def _function_at(file: SourceFile, line: int) -> str:
    around = [f.name for f in file.functions() if f.lineno <= line <= (f.end_lineno or 0)]
    return around[-1] if around else ""


def comparisons(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Every order between something measured and anything but zero."""
    tree = file.tree
    measured = _measured_names(tree, file.text)
    is_real = file.name.split("/")[1] in BY_THE_MACHINES_CLOCK
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for one, sign, other in zip(sides, node.ops, sides[1:], strict=False):
            if not isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                continue
            if any(_is_zero(side) for side in (one, other)) or _is_deadline(one, other):
                continue
            if any(_is_measured(side, measured, by_name=is_real) for side in (one, other)):
                yield node.lineno, ast.unparse(node)


def _is_zero(side: ast.expr) -> bool:
    """A comparison with zero only says if something has happened."""
    return isinstance(side, ast.Constant) and side.value == 0


def _is_deadline(one: ast.expr, other: ast.expr) -> bool:
    """True of `time.monotonic() < end_s`."""
    return any(
        isinstance(clock, ast.Call) and _called(clock) in CLOCKS and isinstance(end, ast.Name)
        for clock, end in ((one, other), (other, one))
    )


def scripts(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Programs in strings that print how long they took."""
    if not WITHIN_A_SCRIPT.search(file.text):
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for line in node.value.splitlines():
                if WITHIN_A_SCRIPT.search(line):
                    yield node.lineno, line.strip()


def deadlines(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Waits for another process or thread with their own timeout."""
    for call in file.calls():
        name = call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)
        if name not in WAITS:
            continue
        given = [word.value for word in call.keywords if word.arg in {"timeout", "deadline_s"}]
        given += call.args[:1] if name in {"join", "result", "wait"} else ()
        given += call.args[1:2] if name in {"serve_until", "wait_until"} else ()
        for value in given:
            if (
                isinstance(value, ast.Constant)
                and type(value.value) in {int, float}
                and value.value
            ):
                yield call.lineno, f"{value.value:g} in {name}"


def _measured_names(tree: ast.Module, text: str) -> set[str]:
    """Names that hold a difference of clock readings, and functions that return one."""
    found: set[str] = set()
    while any(clock in text for clock in CLOCKS):
        before = len(found)
        for node in ast.walk(tree):
            found |= set(_names_given_by(node, found))
        if len(found) == before:
            break
    return found


def _names_given_by(node: ast.AST, measured: set[str]) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets, value=value) if _is_duration(value, measured):
            yield from (_name(target) for target in targets if _name(target))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]):
            if _is_duration(value, measured):
                yield name
        case ast.FunctionDef(name=name) if any(
            isinstance(each, ast.Return) and each.value and _is_duration(each.value, measured)
            for each in ast.walk(node)
        ):
            yield name
        case _:
            return


def _is_duration(node: ast.expr, measured: set[str]) -> bool:
    """True if an expression contains a difference with a clock's reading, or a measured name."""
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub) and _reads_clock(each):
            return True
        if isinstance(each, ast.Name) and each.id in measured:
            return True
        if isinstance(each, ast.Call) and _called(each) in measured:
            return True
    return False


def _is_measured(node: ast.expr, measured: set[str], *, by_name: bool) -> bool:
    if _is_duration(node, measured):
        return True
    if isinstance(node, ast.Call) and _name(node.func) == "len":
        return False
    names = [
        each.attr if isinstance(each, ast.Attribute) else _name(each) for each in ast.walk(node)
    ]
    calls = [_called(each) for each in ast.walk(node) if isinstance(each, ast.Call)]
    patterns = [MEASURED, IN_SECONDS] if by_name else [MEASURED]
    return "elapsed" in calls or any(
        pattern.search(name) for name in names if not name.isupper() for pattern in patterns
    )


def _reads_clock(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call) and _called(each) in CLOCKS for each in ast.walk(node))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
