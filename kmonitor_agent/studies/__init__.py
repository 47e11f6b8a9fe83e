"""Folds and searches: each call of a function in a process of its own, watched and bounded."""
