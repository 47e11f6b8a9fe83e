"""A run as the subject of a memory map: its model, its batch, and what was measured of it."""

import msgspec

from kmonitor.presenters.desk import Desk
from kmonitor.presenters.formats import bytes_text
from kmonitor.presenters.language import tr
from kmonitor.presenters.map_desk import MapDesk
from kmonitor.presenters.map_subject import MapSubject, Reading, SizedLayout
from kmonitor.presenters.vram_split import Resident, SplitPicture, vram_split
from kmonitor_agent.protocol.messages import RunSummary
from kmonitor_agent.protocol.run_summary import ENDED_STATES

_USUAL_BATCH = 32


def run_subject(desk: Desk, run: RunSummary) -> MapSubject:
    """Whose map is shown when a run is selected."""
    readings = desk.readings(run.run)
    layout = desk.models.layout(run.run)
    if layout is not None and not layout.backend:
        layout = msgspec.structs.replace(layout, backend=run.backend)
    peak = readings.value("allocator_peak_bytes")
    source = readings.source("allocator_peak_bytes")
    told = "" if source is None else source.source or source.absent
    return MapSubject(
        key=run.run,
        title=run.name,
        kind="run",
        sizes=(SizedLayout("", layout),) if layout is not None else (),
        why_none="" if layout is not None else _why_none(run),
        why_one_size=tr("a run tells its model for one size; open the model's file for others"),
        batch=run.batch_size or _USUAL_BATCH,
        reading=Reading(peak, told or tr("not told by this run")),
        limit_bytes=int(run.vram.of) if run.vram.of else None,
    )


def run_split(desk: Desk, run: RunSummary, of_map: MapDesk) -> SplitPicture:
    """What the device of a run holds."""
    found = of_map.answer.found
    is_it = of_map.subject is not None and of_map.subject.key == run.run
    if found is None or not is_it:
        resident = Resident(None, tr("the run has not told its model"))
    else:
        words = tr("weights {weights} and optimizer {slots}, from the model's variables")
        text = words.format(
            weights=bytes_text(found.parameter_bytes), slots=bytes_text(found.slot_bytes)
        )
        resident = Resident(found.resident_bytes, text)
    return vram_split(desk.readings(run.run), resident, run.backend)


def _why_none(run: RunSummary) -> str:
    if run.state in ENDED_STATES:
        return tr("This run ended before it told its model, or its agent was too old to.")
    return tr(
        "This run has not told its model yet: it does when it is built, with the first step at "
        "the latest."
    )
