"""Which of a package's compiled files a stack loads on a card."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from repro.check.code.containers import file_fit, usable
from repro.model.binary import BinaryFacts
from repro.model.check import Stack, Target

# Libraries of other makers' cards: such a file is not for this card, and nothing is wrong with it.
_FOREIGN = ("libamdhip", "librocm", "libhip", "libhsa-runtime", "libsycl", "libze_loader")
# Test programs that early wheels of torch brought along: nobody imports them.
_TESTS = re.compile(r"(?:^|/)torch/(?:test|bin)/")
_PER_CUDA = re.compile(r"(?P<stem>.*_cuda)(?P<version>\d{3})(?:\D.*)?")


@dataclass(frozen=True)
class Family:
    """Files of one name but for a CUDA version: `libx_cuda118.so`, `libx_cuda121.so`, by `118`.

    For one version there may be several, `libx_cuda118_nocublaslt.so`: the package takes the one that its
    card needs. The one with the plain name comes first.
    """

    owner: str
    files: dict[str, list[BinaryFacts]]

    def of_cuda(self, cuda: str) -> list[BinaryFacts]:
        """The files for a CUDA version."""
        return self.files.get("".join(cuda.split(".")[:2]), [])

    @property
    def first(self) -> BinaryFacts:
        """A file that stands for all."""
        return next(iter(self.files.values()))[0]


def families(binaries: Iterable[BinaryFacts]) -> list[Family]:
    """Every group of files of which a package loads one, by CUDA version."""
    found: dict[tuple[str, str], dict[str, list[BinaryFacts]]] = defaultdict(lambda: defaultdict(list))
    for facts in sorted(binaries, key=lambda facts: len(facts.path)):
        path = PurePosixPath(facts.path)
        match = _PER_CUDA.fullmatch(path.name)
        if match and not is_foreign(facts):
            found[str(path.parent), match["stem"]][match["version"]].append(facts)
    several = [dict(sorted(files.items())) for files in found.values() if len(files) > 1]
    return [Family(next(iter(files.values()))[0].owner, files) for files in several]


def chosen_files(stack: Stack, target: Target | None = None) -> list[BinaryFacts]:
    """Files that this stack would load: no other maker's; of a family that for torch's CUDA and the card."""
    left_out = {facts.path for facts in stack.binaries if _TESTS.search(facts.path)}
    for family in families(stack.binaries):
        taken = _serving(family.of_cuda(stack.torch.cuda), target)
        left_out |= {facts.path for files in family.files.values() for facts in files if facts is not taken}
    return [facts for facts in stack.binaries if facts.path not in left_out and not is_foreign(facts)]


def is_foreign(facts: BinaryFacts) -> bool:
    """Whether the file is linked against the libraries of another maker's cards."""
    return facts.elf is not None and any(name.startswith(_FOREIGN) for name in facts.elf.needed)


def _serving(files: list[BinaryFacts], target: Target | None) -> BinaryFacts | None:
    """The first file with code for the card, else the one with the plain name."""
    fitting = (facts for facts in files if target and target.capability and usable(file_fit(facts, target)))
    return next(fitting, files[0] if files else None)
