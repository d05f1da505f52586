"""What was declared and what was found around the runs: may they be compared at all, and what differs."""
