"""Commands that a run accepts, and why not, as buttons."""
