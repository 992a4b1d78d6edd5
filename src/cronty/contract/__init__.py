"""Every request, answer, error and operation, defined once; no I/O."""
