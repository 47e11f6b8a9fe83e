"""Files and functions stay small enough to be read in one go."""

import pytest

from tests.support.source_tree import SourceFile, source_files

LONGEST_MODULE = 600
LONGEST_TEST_MODULE = 600
LONGEST_FUNCTION = 50
"""Lines. We aim at 150 and 10; these are where a reader gives up."""


def is_test(file: SourceFile) -> bool:
    return file.name.startswith("tests/")


@pytest.mark.parametrize("folder", ["kmonitor", "kmonitor_agent", "packaging", "tests"])
def test_no_file_is_too_long(folder: str):
    too_long = [
        f"{file.name}: {n_lines} lines"
        for file in source_files(folder)
        if (n_lines := file.text.count("\n"))
        > (LONGEST_TEST_MODULE if is_test(file) else LONGEST_MODULE)
    ]

    assert not too_long


@pytest.mark.parametrize("folder", ["kmonitor", "kmonitor_agent", "packaging"])
def test_no_function_is_too_long(folder: str):
    too_long = [
        f"{file.name}:{function.lineno} {function.name}: {n_lines} lines"
        for file in source_files(folder)
        for function in file.functions()
        if (n_lines := (function.end_lineno or 0) - function.lineno + 1) > LONGEST_FUNCTION
    ]

    assert not too_long
