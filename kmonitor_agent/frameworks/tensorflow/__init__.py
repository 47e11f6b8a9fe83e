"""Keras 3 on TensorFlow: graphs, traces, allocator, reclaim steps, the traced step."""
