"""Facts of the outside world, from `data/*.toml`: torch builds, toolkits, cards, libraries, changes."""
