"""Walks what lies side by side, signal by signal in causal order, and counts what differs, first where."""
