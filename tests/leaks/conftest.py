"""The hub processes of these tests."""

from tests.support.live_hub import idle_hub, live_hub

__all__ = ["idle_hub", "live_hub"]
