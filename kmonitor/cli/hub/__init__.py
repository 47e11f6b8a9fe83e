"""`kmonitor hub`: runs the hub, reports its status, and sets its history and store."""
