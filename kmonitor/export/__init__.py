"""Export of runs for other programs: CSV, JSON lines, Parquet, Keras' CSVLogger."""
