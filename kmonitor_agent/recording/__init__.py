"""Recording of runs in a process: fits, events, requests, limits and safe points."""
