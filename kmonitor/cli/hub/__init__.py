"""`kmonitor hub`: runs the hub, reports its status, sets what it keeps and where."""
