"""Single steps recorded module by module."""
