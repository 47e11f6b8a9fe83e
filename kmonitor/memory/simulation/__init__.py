"""Simulation of a traced step: lifetimes of tensors, and their placement by the allocator."""
