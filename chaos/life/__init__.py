"""A whole life in minutes, step by step from a seed: faults at every statement, the promises checked after each."""

from chaos.life.command import Plan, read_names, read_seeds, run
from chaos.life.mends import MENDS

__all__ = ["MENDS", "Plan", "read_names", "read_seeds", "run"]
