"""kmonitor: the desktop app, the hub and the command line.

The part that runs inside a training process is the package `kmonitor_agent`.
"""

__all__ = ["__version__"]

__version__: str


def __getattr__(name: str) -> str:
    # Imported on request: a command takes over its signals before it imports anything.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kmonitor_agent.wire.release import VERSION  # noqa: PLC0415 - see above

    return VERSION
