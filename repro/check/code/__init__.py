"""GPU code held against a card: pure functions."""
