"""Stands for the package: the runtime's folder, whatever its name, under a name that no program has."""

import os

__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
