"""`kmonitor doctor`: examines this machine, its hub and its hosts."""
