"""From series to verdicts: growth, leaks, slowdowns, stalls, diagnosis and forecast."""
