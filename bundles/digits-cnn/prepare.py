"""Write data/train.npz and eval/digits.npz from the digits set that ships with scikit-learn.

Both files are in the repository; this shows where they came from. The split is fixed (no
randomness), pixels stay small integers, so the files are the same wherever they are made.
"""
import io
import os
import zipfile

import numpy as np
from sklearn.datasets import load_digits

HERE = os.path.dirname(os.path.abspath(__file__))


def write(path, **arrays):
    """A compressed npz without the time of day in it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in sorted(arrays.items()):
            raw = io.BytesIO()
            np.save(raw, array)
            entry = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, raw.getvalue())
    print("wrote", os.path.relpath(path, HERE), os.path.getsize(path), "bytes")


def main():
    digits = load_digits()
    x, y = digits.images.astype("uint8"), digits.target.astype("uint8")
    held = np.arange(len(y)) % 4 == 0  # every fourth image: 450 for evaluation, 1347 to train on
    write(os.path.join(HERE, "data", "train.npz"), x=x[~held], y=y[~held])
    write(os.path.join(HERE, "eval", "digits.npz"), x=x[held], y=y[held])


if __name__ == "__main__":
    main()
