"""Adapters for scikit-learn, KerasTuner and Optuna.

Each fold or trial in a process of its own.
"""
