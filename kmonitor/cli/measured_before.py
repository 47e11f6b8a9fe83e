"""What this user's trainings were measured to take, for the maps of the same models."""

from collections.abc import Iterator

from kmonitor.base.errors import Expected
from kmonitor.cli.common.hub_access import open_hub
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.terminal import complain
from kmonitor.connect.hub_client import HubClient
from kmonitor.memory.calibration import Measured, Measurements
from kmonitor.memory.estimate import Plan
from kmonitor.memory.telemetry import KINDS, FitMemory, fit_memories, measurements_of
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.model_layout import ModelLayout


def measured_before(layout: ModelLayout, plan: Plan) -> tuple[Measured, ...]:
    """What was measured of the same model, trained in the same way; nothing where nothing was.

    A hub is asked, and started, only where one has kept something or a training has left it.

    Args:
        layout: Of the model.
        plan: How it would be trained.
    """
    folders = find_folders()
    if not (folders.database.exists() or folders.spool.exists()):
        return ()
    try:
        with open_hub() as client:
            return _all(client).of(layout, plan)
    except Expected as exc:
        complain(f"kmonitor: earlier measurements are not used: {exc.what}")
        return ()


def run_memory(wanted: str) -> tuple[FitMemory, Measurements]:
    """The newest fit of a run whose model is known, and all that was measured.

    Args:
        wanted: The run's id, the beginning of one, its name, or `last`.

    Raises:
        Expected: There is no such run, or it has not told its model.
    """
    with open_hub() as client:
        run = choose_run(client.runs(), wanted)
        fits = fit_memories(_events(client, run.run))
        if not fits:
            raise Expected(
                f"{run.name} has not told what its model is made of.",
                "Runs with Keras 3 tell it at a fit's begin, unless they are private.",
            )
        return fits[-1], _all(client)


def _all(client: HubClient) -> Measurements:
    return measurements_of(
        fit for run in _measured_runs(client) for fit in fit_memories(_events(client, run))
    )


def _events(client: HubClient, run: str) -> Iterator[AnyEvent]:
    for row in client.all_rows(run, KINDS):
        try:
            yield decode_event(row.body)
        except ProtocolError:
            continue  # of a newer agent


def _measured_runs(client: HubClient) -> list[str]:
    """Ids of the runs that told a peak, the first one first."""
    found: dict[str, None] = {}
    cursor, more = 0, True
    while more:
        page = client.rows(cursor=cursor, kinds=["step_peak"])
        found.update((row.run, None) for row in page.rows)
        cursor, more = page.cursor, page.more
    return list(found)
