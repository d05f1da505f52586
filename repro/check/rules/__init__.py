"""Rules: a stack and a target give findings. A file a subject; `order.py` lists them all."""
