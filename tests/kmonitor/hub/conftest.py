"""The hub's fixtures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hub_parts import HubParts
from tests.support.live_hub import client, idle_hub, live_hub

__all__ = ["client", "idle_hub", "live_hub", "parts"]


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[HubParts]:
    """Ledger and database in this process."""
    parts = HubParts(tmp_path)
    yield parts
    parts.database.close()
