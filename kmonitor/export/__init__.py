"""A run written for other programs: CSV, JSON lines, Parquet, Keras' CSVLogger."""
