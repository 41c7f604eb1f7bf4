"""Settings: read from flags, environment, file and defaults."""
