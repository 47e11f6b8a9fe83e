"""Adapters for scikit-learn, KerasTuner and Optuna.

Each fold or trial runs in a separate process.
"""
