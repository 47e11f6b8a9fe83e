"""Widgets that know no run: tables, dialogs, buttons, labels, keyboard. Imports Qt."""
