"""Metrics of the hub and its runs for Prometheus and OpenTelemetry.

Their libraries are loaded on request.
"""
