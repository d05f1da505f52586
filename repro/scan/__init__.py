"""Reads compiled and source files for what they ask of a card: facts only, no judgement."""
