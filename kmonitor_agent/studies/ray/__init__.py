"""Studies on a Ray cluster: each attempt is a Ray task that watches a process on its node."""
