"""Cronty over HTTP, for people and their machines."""
