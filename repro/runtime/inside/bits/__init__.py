"""Numbers taken of tensors: exact fingerprints, sums in a fixed order, streams; read without waiting."""
