from typing import Any

from tests.leaks.guide_page import GUIDE, PAGE, filled

MIB = 2**20


def result(thread: str, kind: str, expected: str, grown_mib: float, **said: Any) -> dict[str, Any]:
    return {
        "script": thread,
        "problem": "",
        "expected": expected,
        "growth": {"anonymous": grown_mib * MIB},
        "said": {"state": "steady", "called_at": None, "per": "fit", "cause": "", **said},
        "report": {"thread": thread, "kind": kind, "cause": "a | b", "remedy": "none"},
    }


RESULTS = [
    result("a/b#1", "datasets", "leak", 4.0, called_at=9, cause="retained_traces"),
    result("a/b#1 fixed", "datasets", "none", 0.01),
    result("a/b#2", "mapped files", "none", 0.0),
    result("https://c.d/e", "native", "none", 0.0),
    {**result("a/b#3", "native", "leak", 9.0), "problem": "failed"},
]


def test_each_report_stands_in_its_table_with_what_was_measured():
    page = (GUIDE / PAGE).read_text(encoding="utf-8")

    now = filled(page, {one["script"]: one for one in RESULTS})

    grows, harmless, gone = now.split("\n## ")[1:]
    link = "[a/b#1](https://github.com/a/b/issues/1)"
    said = "growing, fit 9: retained traces"
    assert [line for line in grows.splitlines() if line.startswith("| [")] == [
        f"| {link} | a \\| b | 4.0 | {said} | none | 0.0 |"
    ]
    assert "a/b#2" in harmless
    assert "[c.d/e](https://c.d/e) | a \\| b | 0.0 | steady |" in gone
    assert "a/b#3" not in now
    assert "\nPython 3" in now


def test_new_results_take_the_place_of_old_ones_and_leave_the_words():
    for folder in (GUIDE, GUIDE / "zh_CN"):
        page = (folder / PAGE).read_text(encoding="utf-8")
        emptied = filled(page, {})

        assert len(emptied.splitlines()) < len(page.splitlines())
        kept = [line for line in page.splitlines() if not line.startswith(("| [", "Python "))]
        assert kept == [line for line in emptied.splitlines() if not line.startswith("Python ")]
