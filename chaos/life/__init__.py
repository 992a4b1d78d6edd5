"""A whole life in minutes, step by step from a seed: faults at every statement, and every promise checked after each."""

from chaos.life.command import Plan, run

__all__ = ["Plan", "run"]
