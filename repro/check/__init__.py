"""Judges a stack against a target: rules over facts, each finding with evidence and a fix."""
