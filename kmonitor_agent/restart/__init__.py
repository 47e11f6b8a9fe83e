"""`kmonitor run`: starts a script, watches how it ends, and starts it again when it asks to."""
