"""The recorder: what hooks tell it, when it looks, what it writes."""
