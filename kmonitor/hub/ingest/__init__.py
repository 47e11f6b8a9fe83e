"""Events on their way in: from agents, from spools, and whether a run's process is alive."""
