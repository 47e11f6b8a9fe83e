"""The event log: one sentence per event, newest first, with a filter."""

from kmonitor.presenters.event_sentences import EventLine, Level, sentence
from kmonitor_agent.protocol.facts import AnyEvent

__all__ = ["EventLine", "Level", "event_line"]


def event_line(event: AnyEvent, *, name: str) -> EventLine | None:
    """One sentence about an event, or None if it has nothing to say on its own.

    Args:
        event: Any event of a run.
        name: The run's name.
    """
    return sentence(event, name)
