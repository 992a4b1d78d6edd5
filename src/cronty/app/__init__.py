"""Puts it together: the public class `Cronty`, which opens and closes everything."""

from cronty.app.asking import Cronty

__all__ = ["Cronty"]
