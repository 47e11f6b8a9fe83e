"""Studies: folds, attempts, metrics and memory by fold."""
