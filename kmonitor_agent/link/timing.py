"""Every interval and bound of the link in one place, so that tests can shorten them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Intervals in seconds.

    Attributes:
        drain_s: How long an event waits for the spool at most. The thread looks by itself so
            often, which costs 0.1 % of a core and leaves the emitter a mere append.
        still_s: After so long without an event it looks no more and is woken by the next one,
            so that a program that does nothing is left in peace.
        hello_s: Between two hellos until the hub's welcome.
        ping_s: Longest time between two pings; a hub may ask for shorter.
        dead_s: A hub that was silent for so long is left.
        stall_s: Events unacknowledged for so long, from a hub that is alive: say hello again.
        look_s: Between two looks for a hub's socket that is not there.
        backoff_s: First pause after a hub was left; doubles, and is jittered down to its half.
        backoff_limit_s: Longest pause after a hub that was not reached or fell silent: so soon
            after a network is mended, a run is seen again. With 30 s a cut of 40 s was followed
            by 20 s without news. A try each second or so (a connection that nobody answers is
            held for `dead_s`, so 19 a minute) costs 0.05 % of a core, with a dead hub's socket or
            over the network; 30 s would save two thirds of that. Fifty agents make 16 tries a
            second of a few packets; the jitter spreads them, and a hub that is alive but has too
            much to do asks for a longer pause itself (`refused_s`). Without a socket of a hub
            nothing is tried at all.
        refused_s: Pause after a hub that cannot serve this run, and the longest that one may ask
            for.
        steady_s: A session that lasted so long resets the pause.
        retry_s: Between two tries to write to a disk that refused.
        mark_s: Between two notes of what was acknowledged.
        tidy_s: Between two rounds of retention.
        lock_s: How long a spool's lock is waited for at the start; a hub that ships what the
            run's last process left holds it for a moment.
    """

    drain_s: float = 0.05
    still_s: float = 60.0
    hello_s: float = 0.5
    ping_s: float = 1.0
    dead_s: float = 2.5
    stall_s: float = 10.0
    look_s: float = 0.5
    backoff_s: float = 0.1
    backoff_limit_s: float = 1.0
    refused_s: float = 30.0
    steady_s: float = 5.0
    retry_s: float = 5.0
    mark_s: float = 5.0
    tidy_s: float = 600.0
    lock_s: float = 3.0
