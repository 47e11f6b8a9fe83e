"""A process that floods a hub with ready-made batches, to measure the hub and not the sender.

`python -m tests.support.flood_source ADDRESS COUNT BYTES`, with KMONITOR_HOME set: ADDRESS is
`tcp://HOST:PORT?key=KEY`, whose hub lets this home's agent key in. Says "ready" once it is
welcome, begins with the line that it reads, and writes one JSON line: seconds until all is
confirmed, the processor time it took itself.
"""

import json
import sys
import time

import zmq

from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from kmonitor_agent.wire.local.hub_address import parse_direct_address
from kmonitor_agent.wire.messages.codec import encode_event, unpack_to_agent
from kmonitor_agent.wire.messages.events import Notice, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import Ack, Batch, Hello, HelloAgain, Nack, Ping, Welcome
from tests.support.direct_hub import RawPeer
from tests.support.waiting import DEADLINE_S

WINDOW = 4096
BATCH = 1024


def event_of(n_bytes: int) -> bytes:
    """An encoded event of exactly this many bytes."""
    bare = len(encode_event(Notice(t_s=1.0, level="info", code="flood", text=" " * 100)))
    text = " " * (100 + n_bytes - bare)
    return encode_event(Notice(t_s=1.0, level="info", code="flood", text=text))


def main() -> None:
    """Send, wait for the confirmation, print the figures."""
    address, count = parse_direct_address(sys.argv[1]), int(sys.argv[2])
    body = event_of(int(sys.argv[3]))
    run, session = new_id(), new_id()
    first = SessionStarted(
        t_s=0.0, session=session, name="flood", host="far", pid=1, started_wall_s=time.time()
    )
    keys = own_keys(find_folders(), "agent")
    with RawPeer(address.endpoint, address.key, keys) as peer:
        peer.socket.setsockopt(zmq.SNDHWM, 64)
        hello = Hello(
            run=run, session=session, minor_versions=(1, 1), first=1, last=1, pid=1, host="far",
            started_wall_s=time.time(), monotonic_s=0.0,
        )  # fmt: skip
        peer.say(hello)
        while not isinstance(_told(peer), Welcome):
            pass
        peer.say(Batch(run=run, session=session, first=1, events=[encode_event(first)]))
        while not isinstance(_told(peer), Ack):
            pass
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        begin_s, cpu_s = time.monotonic(), time.process_time()
        _flood(peer, run, session, count + 1, [body] * BATCH)
        figures = {
            "run": run,
            "seconds": time.monotonic() - begin_s,
            "cpu_s": time.process_time() - cpu_s,
        }
    sys.stdout.write(json.dumps(figures) + "\n")


def _told(peer: RawPeer) -> object:
    frames = peer.socket.recv_multipart()
    return unpack_to_agent(frames)


def _flood(peer: RawPeer, run: str, session: str, last: int, bodies: list[bytes]) -> None:
    acked = sent = 1
    end_s = time.monotonic() + 2 * DEADLINE_S
    while acked < last:
        assert time.monotonic() < end_s, f"{acked} of {last} are confirmed"
        while sent < last and sent - acked <= WINDOW - BATCH:
            n = min(BATCH, last - sent)
            peer.say(Batch(run=run, session=session, first=sent + 1, events=bodies[:n]))
            sent += n
        if not peer.socket.poll(500):
            peer.say(Ping(n=1, run=run, last=sent))
            continue
        match _told(peer):
            case Ack(acked=confirmed) | HelloAgain(acked=confirmed):
                acked = max(acked, confirmed)
            case Nack(why=why):
                raise AssertionError(why)
            case _:
                pass


if __name__ == "__main__":
    main()
