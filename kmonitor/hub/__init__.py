"""The hub.

Receives events from trainings, stores and judges them, answers viewers, forwards commands.
"""
