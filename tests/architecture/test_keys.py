"""Every shortcut comes from the one table of keys."""

import re

from tests.support.source_tree import source_files

LITERAL = re.compile(r"QKeySequence\(\s*[\"']|setShortcut\(\s*[\"']|\bQShortcut\(\s*QKey")


def test_no_shortcut_is_written_beside_the_table():
    beside = [
        file.name
        for file in source_files("kmonitor/ui")
        if LITERAL.search(file.text) and not file.name.endswith("widgets/keyboard.py")
    ]

    assert beside == []
