"""Spools: the files in which a run's events wait until a hub has them."""
