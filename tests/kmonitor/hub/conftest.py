"""A hub: its process, and its parts in this process."""

from tests.support.direct_hub import listening_hub
from tests.support.hub_parts import parts
from tests.support.live_hub import client, idle_hub, live_hub
from tests.support.team_server import team_server, team_url

__all__ = ["client", "idle_hub", "listening_hub", "live_hub", "parts", "team_server", "team_url"]
