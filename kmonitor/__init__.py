"""kmonitor: the desktop app, the hub and the command line.

The part that runs inside a training process is the package `kmonitor_agent`.
"""

from kmonitor_agent.wire.release import VERSION as __version__  # noqa: N811 - the name that Python expects

__all__ = ["__version__"]
