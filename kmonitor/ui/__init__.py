"""Everything that users see in the window.

State modules without Qt, and in each subject's `qt` folder the views that show it.
"""
