"""`kmonitor top`: the runs of this machine and of the remembered hosts, live in the terminal."""
