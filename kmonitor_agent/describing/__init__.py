"""Child processes that build a model only to describe, trace or load it."""
