"""The public class `Cronty`, which opens and closes everything."""

from cronty.app.cronty import Cronty

__all__ = ["Cronty"]
