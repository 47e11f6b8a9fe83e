"""Folds and searches: each call of a function in a fresh process, watched and bounded."""
