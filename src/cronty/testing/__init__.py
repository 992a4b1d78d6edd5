"""What tests of your own tasks need."""

from cronty.testing.clock import HandClock, by_hand
from cronty.testing.perform import fake_run, perform

__all__ = ["HandClock", "by_hand", "fake_run", "perform"]
