"""Folds and searches: each call of a function in a process of its own, monitored and bounded."""
