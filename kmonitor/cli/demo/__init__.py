"""`kmonitor demo`: runs the demo's trainings and compares their results."""
