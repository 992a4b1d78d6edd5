"""The command line: the operations as commands, and serve, work, migrate, doctor."""
