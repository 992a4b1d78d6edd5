"""Everything that is stored: all SQL, the migrations and the clock. Only this package talks to PostgreSQL."""
