"""The training script of `kmonitor demo` and its data; started as a child process."""
