"""Save, collect and reload: exact state on disk, checkpoints, the record of each action."""
