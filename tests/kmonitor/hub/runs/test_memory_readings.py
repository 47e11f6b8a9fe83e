"""RAM as lists of runs show it: pages of files beside it, and its control group's account."""

import pytest

from kmonitor.hub.runs.apply_events import apply_event
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import Sample

GIB = 2.0**30


@pytest.mark.parametrize(
    ("host_bytes", "used"), [(4 * GIB, 3 * GIB), (2 * GIB, None)], ids=["group", "host"]
)
def test_the_account_counts_where_the_groups_limit_is_the_smaller(
    host_bytes: float, used: float | None
):
    record = RunRecord(key=1, run="run")
    sample = Sample(
        t_s=1.0,
        ram_bytes=GIB,
        ram_file_bytes=5 * GIB,
        ram_of_bytes=min(host_bytes, 4 * GIB),
        cgroup_limit_bytes=4 * GIB,
        cgroup_used_bytes=3 * GIB,
    )

    apply_event(record, sample)

    ram = record.summary().ram
    assert (ram.value, ram.file_bytes, ram.used) == (GIB, 5 * GIB, used)
    assert ram.used_of == (used or GIB)
