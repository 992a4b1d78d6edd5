"""What `cronty work tasks:cronty` of the plain image loads: no tasks. Put a module of yours in its place."""

from cronty import Cronty

cronty = Cronty()
