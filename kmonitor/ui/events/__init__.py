"""Events as text: log, action records, reclaims, crash diagnosis, end of a run."""
