"""What a shared object asks of its surroundings, and what torch offers."""
