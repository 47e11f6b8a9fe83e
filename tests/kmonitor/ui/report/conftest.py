"""A hub process, and a client of it."""

from tests.support.live_hub import client, idle_hub, live_hub

__all__ = ["client", "idle_hub", "live_hub"]
