"""What can be asked and answered: every request, answer, error and operation, said once; no I/O."""
