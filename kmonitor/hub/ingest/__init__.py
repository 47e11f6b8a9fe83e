"""Events on their way in: from agents, from spools, and the liveness of runs."""
