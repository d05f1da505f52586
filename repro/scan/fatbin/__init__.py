"""Containers of GPU code: headers only, nothing is unpacked."""
