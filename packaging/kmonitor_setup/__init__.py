"""Sets kmonitor up on a bare machine, with nothing but Python's standard library."""
