"""Memory of a training step by layer: estimate, calibration, what-if."""
