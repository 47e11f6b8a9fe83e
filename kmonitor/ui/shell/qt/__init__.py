"""The main window: composition root, frame and pages, start and end of the process."""
