"""Modules that take long to import and that most programs don't need."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType


def imported_when_used(name: str) -> ModuleType:
    """A module that is there at once, and imported when something is asked of it."""
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
