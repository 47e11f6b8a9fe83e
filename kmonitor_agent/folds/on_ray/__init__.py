"""Folds on a Ray cluster: each attempt is a Ray task, which watches a process of its own there."""
