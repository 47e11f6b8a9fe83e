"""A hub for those who connect: the hub's fixtures."""

from tests.support.live_hub import client, idle_hub, live_hub

__all__ = ["client", "idle_hub", "live_hub"]
