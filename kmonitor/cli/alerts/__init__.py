"""`kmonitor alerts`: rules for alerts and where they go, without a window."""
