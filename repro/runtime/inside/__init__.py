"""What runs inside the program's own process: the recorder and its hooks."""
