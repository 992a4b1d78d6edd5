"""Cronty over HTTP: REST, the dashboard, health checks."""
