"""Judgement on series: pure functions, no IO, no clock."""
