"""Runs a program under a recorder, in the container or beside it; see docs/formats.md.

Standard library only, Python 3.6 and newer, relative imports only: the folder also works
when it is copied elsewhere under the name `repro_runtime`. Nothing here imports the host tool.
"""

import sys

# A bundle's folder stays as it was packed: a compiled file in it would be a foreign one.
sys.dont_write_bytecode = True
