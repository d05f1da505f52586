"""Source files that compile GPU code, or have it compiled."""
