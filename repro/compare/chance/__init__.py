"""Tests on numbers, and how many numbers they need. Knows nothing of runs."""
