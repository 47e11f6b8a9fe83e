"""The parts of the window, each bound to one presenter."""
