"""The ten trainings, each tool in them, and the readers of what it wrote: the peers' side."""
