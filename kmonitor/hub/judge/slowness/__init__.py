"""Epochs and steps that take longer, and trainings that make no step at all."""
