"""Evidence on the growth of memory: resources beside it, garbage collections, diagnoses."""
