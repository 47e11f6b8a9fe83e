"""Events in words: log, action records, reclaims, crash diagnosis, end of a run."""
