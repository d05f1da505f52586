"""Parameters of a bundle, changed for one run: the packed file stays as it is."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from repro.files import write_whole
from repro.model.canonical import pretty
from repro.model.snapshot import ParamSet
from repro.snapshot import overrides, tagged
from repro.snapshot.paramfile import parse, render
from repro.snapshot.params import no_file


def change_params(bundle: Path, packed: ParamSet, into: Path, sets: Sequence[str]) -> ParamSet:
    """The parameters with `sets` applied; `into` gets `params.json`, and `params/` with the file.

    The file keeps its own format, so that the program reads it as it would the packed one.

    Raises:
        params-set, params-set-unknown: an override is malformed, names no parameter or changes its type.
    """
    given = overrides.split(sets)
    if not packed.file:
        raise no_file(given)
    path = PurePosixPath(packed.file)
    parsed = parse(packed.file, path.suffix, (bundle / "params" / path.name).read_bytes())
    values = overrides.apply(parsed.values, given)
    changed = ParamSet(
        file=packed.file,
        source_sha256=packed.source_sha256,
        values=tagged.encode(values),
        overrides={**packed.overrides, **given},
    )
    write_whole(into / "params" / path.name, render(path.suffix, values))
    write_whole(into / "params.json", pretty(changed))
    return changed
