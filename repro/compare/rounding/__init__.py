"""The first question: the same computation up to rounding? By equal bits, members, dense steps, or bound."""
