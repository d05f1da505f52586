"""What the tables know of the torch and the packages of a stack."""
