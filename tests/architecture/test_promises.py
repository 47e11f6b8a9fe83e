"""Each promise in SECURITY.md has a number, and tests carry the same number."""

import ast
import re
from pathlib import Path

from tests.support.source_tree import ROOT


def test_every_promise_has_tests_and_every_number_is_a_promise():
    promised = re.findall(r"\*\*P(\d+)\*\*", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    tested = {number for path in (ROOT / "tests").rglob("test_*.py") for number in numbers(path)}

    assert promised == [str(number) for number in range(1, len(promised) + 1)]
    assert tested == set(map(int, promised))


def numbers(path: Path) -> set[int]:
    """Numbers in the marks of a file's tests."""
    text = path.read_text(encoding="utf-8")
    if "mark.promise(" not in text:
        return set()
    return {
        int(ast.literal_eval(given))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise"
        for given in node.args
    }
