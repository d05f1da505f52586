"""Steps as a Parquet table and back: a column a signal, a null where a step lacks it.

Needs pyarrow, which is imported where it is used.
"""

from pathlib import Path
from typing import Any

import numpy as np

from repro.model import columns
from repro.model.columns import Array, Column
from repro.model.rates import Rates
from repro.model.steps import Steps

_NUMBER, _RATES = "step", "lr"


def write_table(path: Path, steps: Steps) -> None:
    """Write the steps as one table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {_NUMBER: pa.array(steps.number), _RATES: _rates(pa, steps.lr)}
    for name, column in steps.columns.items():
        # NaN is a value here, and no null.
        arrays[name] = pa.array(column.values, mask=~column.known, from_pandas=False)
    # Digests do not shrink and are not repeated, so that dictionaries would only cost.
    pq.write_table(pa.table(arrays), path, compression="zstd", use_dictionary=False)


def read_table(path: Path) -> Steps:
    """The steps that `write_table` wrote to a file which has not changed since.

    Raises:
        OSError, ValueError, KeyError, ArrowException: another version of pyarrow cannot read it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Column by column, on one thread, from the system's own allocator: half the memory, and a quarter of the
    # time that the kernel takes to find it.
    pa.set_memory_pool(pa.system_memory_pool())
    with pq.ParquetFile(path) as file:
        arrays = {name: _array(file, name) for name in file.schema_arrow.names}
    number = arrays.pop(_NUMBER).to_numpy()
    rates = _read_rates(arrays.pop(_RATES))
    return Steps(number, {name: _column(array) for name, array in arrays.items()}, rates)


def _array(file: Any, name: str) -> Any:
    return file.read(columns=[name], use_threads=False).column(name).combine_chunks()


def _column(array: Any) -> Column:
    if array.null_count == 0:
        return columns.whole(array.to_numpy(zero_copy_only=False))
    known = array.is_valid().to_numpy(zero_copy_only=False)
    return Column(array.fill_null(0).to_numpy(zero_copy_only=False), known)


def _rates(pa: Any, rates: Rates) -> Any:
    sizes, absent = np.zeros(rates.count, np.int64), np.ones(rates.count, np.bool_)
    sizes[rates.places] = np.diff(rates.bounds)
    absent[rates.places] = False
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))
    return pa.LargeListArray.from_arrays(offsets, pa.array(rates.values), mask=pa.array(absent))


def _read_rates(array: Any) -> Rates:
    places: Array = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
    sizes = array.value_lengths().fill_null(0).to_numpy()[places]
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return Rates(len(array), places, bounds, array.flatten().to_numpy())
