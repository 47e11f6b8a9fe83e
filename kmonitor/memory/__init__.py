"""Memory of a training step, layer by layer: estimate, calibration, what-if."""
