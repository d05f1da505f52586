"""What the tables know of a torch whose version and tag are said."""

import msgspec

from repro.check.known.builds import build_with, conda_recipe, known_release
from repro.model.check import Torch
from repro.tables.toolkits import tag_cuda

# Makers whose wheels the table of releases is about; nothing said counts as the project's own wheel.
_OFFICIAL = ("", "release")


def torch_from_table(said: Torch | str, tag_or_index: str = "") -> Torch:
    """`said` with tag, CUDA and targets filled from the tables, as far as they have that very build.

    Args:
        said: a described torch, or a version, `1.13.1` or `1.13.1+cu117`, of the project's own wheels.
        tag_or_index: with a version: `cu118`, `pytorch-cu118` or `default`; empty is the plain requirement.
    """
    if isinstance(said, str):
        said = _wheel(said, tag_or_index)
    if said.make == "conda":
        return _from_recipe(said)
    release = known_release(said.version) if said.version and said.make in _OFFICIAL else None
    if release is None:
        return said
    known = msgspec.structs.replace(said, version=release.version, make="release")
    tag = said.tag or (release.pypi_tag if said.index == "default" else "")
    build = build_with(release, tag)
    if build is None:
        return msgspec.structs.replace(known, tag=tag, cuda=said.cuda or tag_cuda(tag))
    return msgspec.structs.replace(
        known,
        tag=tag,
        cuda=build.cuda,
        sass=list(build.sass),
        ptx=list(build.ptx),
        basis="table",
        source=f"table of torch releases ({build.arch_source})",
    )


def _wheel(version: str, tag_or_index: str) -> Torch:
    bare, _, local = version.partition("+")
    tag = local.partition(".")[0] or tag_or_index.rpartition("-")[2]
    plain = tag in ("", "default")
    return Torch(
        asked=f"torch=={version}",
        version=bare,
        tag="" if plain else tag,
        cuda="" if plain else tag_cuda(tag),
        index="default" if plain else tag_or_index,
        make="release",
    )


def _from_recipe(said: Torch) -> Torch:
    known = conda_recipe(said.version, said.cuda) if said.version else None
    if known is None:
        return said
    sass, ptx = list(known.sass), list(known.ptx)
    source = f"recipe of the channel pytorch ({known.source})"
    return msgspec.structs.replace(said, sass=sass, ptx=ptx, basis="table", source=source)
