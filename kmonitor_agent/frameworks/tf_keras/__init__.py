"""Keras 2 (tf_keras): exact state, graph mode, reclaim steps, resuming a fit."""
