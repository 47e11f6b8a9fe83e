"""Charts: the only importer of pyqtgraph."""
