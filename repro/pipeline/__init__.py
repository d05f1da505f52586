"""The stages in a row: what each command does, with no word about how it is shown."""
