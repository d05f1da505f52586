"""Package a PyTorch project before renting a GPU, run it anywhere, and judge how runs diverge."""

__version__ = "0.1.0"
