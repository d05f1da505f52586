"""Words of people, read: a question, a torch, a package, a card."""
