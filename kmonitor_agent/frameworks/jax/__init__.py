"""Keras 3 on JAX: framework, compiled programs, allocator."""
