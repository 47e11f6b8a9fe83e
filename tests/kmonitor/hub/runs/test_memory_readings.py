"""RAM as lists of runs show it: what can be had, and pages of files beside it."""

from kmonitor.hub.runs.apply_events import apply_event
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import Sample

GIB = 2.0**30


def test_ram_is_a_part_of_what_can_be_had():
    record = RunRecord(key=1, run="run")
    sample = Sample(
        t_s=1.0,
        ram_bytes=GIB,
        ram_file_bytes=5 * GIB,
        ram_of_bytes=4 * GIB,
        ram_left_bytes=3 * GIB,
    )

    apply_event(record, sample)

    ram = record.summary().ram
    assert (ram.value, ram.of, ram.file_bytes) == (GIB, 4 * GIB, 5 * GIB)
