"""Internals of Keras and its backends: the only place that touches them."""
