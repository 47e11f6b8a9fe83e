"""Small controls that Qt lacks: chips, segments, a switch."""
