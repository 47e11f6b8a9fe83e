import mmap
import sys
from pathlib import Path

import pytest

from kmonitor_agent.probes.compiled_code import read_code_regions

LINES = """\
55d0-55d1 r--p 00000000 08:01 12   /usr/bin/python3
55d1-55d2 r-xp 00001000 08:01 12   /usr/bin/python3
7f01-7f02 r-xp 00000000 00:00 0
7f02-7f03 rwxp 00000000 00:00 0
7f03-7f04 rw-p 00000000 00:00 0
7f05-7f06 r-xp 00000000 00:00 0    [vdso]
"""


def test_only_pages_of_no_file_that_may_be_executed_count(tmp_path: Path):
    (tmp_path / "maps").write_text(LINES, encoding="ascii")

    reading = read_code_regions(tmp_path)

    assert (reading.value, reading.unit) == (2.0, "regions")


def test_without_maps_the_reason_is_given(tmp_path: Path):
    reading = read_code_regions(tmp_path)

    assert reading.value is None
    assert "compiled code cannot be counted" in reading.absent


@pytest.mark.skipif(sys.platform != "linux", reason="procfs")
def test_a_region_of_this_process_is_counted():
    def regions() -> float:
        return read_code_regions(Path("/proc/self")).value or 0.0

    before = regions()
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, mmap.PAGESIZE, private, mmap.PROT_READ | mmap.PROT_EXEC) as _:
        assert regions() == before + 1.0
