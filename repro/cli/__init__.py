"""The commands. Click lives here and nowhere else; a command decides nothing."""
