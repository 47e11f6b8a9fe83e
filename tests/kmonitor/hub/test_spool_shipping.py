"""When the hub takes a spool from the disk, and when it leaves it to its process."""

import time

from kmonitor.hub.sessions import Session, Sessions
from kmonitor.hub.spool_shipping import SpoolShipping
from kmonitor_agent.local.folders import Folders
from kmonitor_agent.local.run_spool import RunSpool
from kmonitor_agent.restart.death import Death
from kmonitor_agent.restart.last_words import tell_death
from tests.support.hub_parts import HubParts
from tests.support.links import LinkUnderTest, sample

_SCAN_S = 6.0


class _Shipping:
    """The shipping of one folder of spools, and the sessions that it looks at."""

    def __init__(self, parts: HubParts, folders: Folders) -> None:
        self.parts = parts
        self.sessions = Sessions()
        self.shipping = SpoolShipping(
            folders.spool, parts.ledger, self.sessions, parts.faults, parts.clock
        )

    def hello(self, run: str) -> None:
        now_s = self.parts.clock.monotonic_s()
        self.sessions.add(Session(b"socket", run, "boot", 1.0, now_s))

    def after(self, seconds: float) -> int:
        """The number of events taken when so much time has passed."""
        self.parts.clock.move(seconds)
        self.shipping.step()
        return sum(record.accepted for record in self.parts.ledger.registry.all())


def _leave_a_spool(folders: Folders) -> str:
    with LinkUnderTest(folders) as link:
        for step in range(20):
            link.link.emit(sample(step))
    (folder,) = folders.spool.iterdir()
    return folder.name


def test_a_process_that_died_right_after_its_hello_does_not_keep_its_spool_waiting(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders)
    hub.hello(run)

    assert hub.after(0.1) == 0
    assert hub.after(_SCAN_S) >= 20
    assert hub.sessions.of_run(run) is None


def test_a_quiet_process_that_lives_keeps_its_spool_and_its_session(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders)
    hub.hello(run)
    held = RunSpool.take(folders.spool / run)
    assert held is not None

    with held:
        assert hub.after(_SCAN_S) == 0
        assert hub.sessions.of_run(run) is not None


def test_a_spool_to_which_something_was_written_since_is_not_taken_for_settled(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    parts.clock.jump_wall(time.time() - parts.clock.wall_s())  # of which the files' age is told
    hub = _Shipping(parts, folders)
    told = hub.after(_SCAN_S)
    (record,) = parts.ledger.registry.all()
    assert parts.ledger.commit()
    assert hub.shipping.is_settled(record)

    asked = Death("signal", "SIGINT", why="SIGINT, which was sent to kmonitor run")
    assert tell_death(folders, run, asked, asked=True, supervisor=0)

    assert not hub.shipping.is_settled(record)
    assert hub.after(0.1) == told + 1
