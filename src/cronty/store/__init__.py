"""Everything remembered: all SQL, migrations and the clock; the only room that speaks to PostgreSQL."""
