"""A process's run: its fits in order, its samples and limits, and what is done at safe points."""
