"""The page of a study: folds, their charts, attempts."""
