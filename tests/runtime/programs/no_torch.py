"""No torch at all: shows what it was started with."""

import json
import os
import sys

print("argv", sys.argv[1:])
print("sitecustomize", sys.modules["sitecustomize"].__dict__.get("MARK", "none"), flush=True)
for name in sys.argv[1:]:
    if name.endswith("metrics.json"):
        with open(name, "w") as f:
            json.dump({"score": 0.5, "nested": {"depth": 2}, "params": {"lr": 1}}, f)
os.makedirs("made", exist_ok=True)
