"""`kmonitor compare`: two runs side by side, and conditions for continuous integration."""
