"""The only place that touches Keras and TensorFlow internals."""
