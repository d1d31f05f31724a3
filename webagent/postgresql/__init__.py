"""Django's PostgreSQL, which asks less often whether a kept connection still stands."""
