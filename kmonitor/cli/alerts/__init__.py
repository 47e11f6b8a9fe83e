"""`kmonitor alerts`: rules for alerts and their targets, without a window."""
