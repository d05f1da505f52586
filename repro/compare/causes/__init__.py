"""Why the runs differ: the rules of `data/causes.toml` over the evidence."""
