"""Widgets independent of runs: tables, dialogs, buttons, labels, keyboard. Imports Qt."""
