"""Compiled files where they lie: in wheels, in folders, in images."""
