"""What a run starts from and what it keeps: state files, noise, the plan that asks for them."""
