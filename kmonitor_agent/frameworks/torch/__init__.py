"""Keras 3 on PyTorch: framework, state, allocator, compiled graphs."""
