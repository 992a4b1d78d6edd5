"""The same, as commands; and work, migrate, doctor."""
