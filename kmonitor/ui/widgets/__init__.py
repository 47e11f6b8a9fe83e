"""Widgets that know no run.

Table model and view, dialogs, buttons, labels, key bindings. Imports Qt.
"""
