"""Stands for the package: the runtime's folder, whatever its name, importable as `repro_runtime`."""

import os

__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
