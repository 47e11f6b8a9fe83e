"""The version of this release, read by agent, hub and app; kept equal to pyproject.toml by a test."""

from typing import Final

VERSION: Final = "0.1.0"
