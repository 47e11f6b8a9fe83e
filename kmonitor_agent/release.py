"""The version of this release for agent, hub and app; a test keeps it equal to pyproject.toml."""

from typing import Final

VERSION: Final = "0.1.0"
