"""The second question: the same result in the end? Margins, several runs a side, statistics."""
