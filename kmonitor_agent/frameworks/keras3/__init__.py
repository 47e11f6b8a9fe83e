"""Keras 3 on any backend: exact state, step functions, resuming a fit."""
