"""Extensions in a project's code: what compiling them needs, and what lies there compiled already."""

from collections.abc import Iterator

from repro.check.finding import finding
from repro.check.known.archlist import arch_list
from repro.check.rules.toolchain import facts, file_of, first_of_each_file, has_compiler, nvcc_of, places
from repro.model.check import Finding, SourceFact, Stack, Target

_IN_IMAGE = (
    "a base image with it in repro.toml: dependencies.base, one of CUDA or torch whose tag says `devel`"
)


def built_extensions(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on extensions that are compiled when the environment is made."""
    if nvcc_of(stack) is None:
        for fact in first_of_each_file(facts(stack, "cuda-extension", "sdist")):
            yield _needs_nvcc(fact, stack, target)
    plain = facts(stack, "cpp-extension")
    with_cuda = {file_of(fact) for fact in facts(stack, "cuda-extension")}
    if not has_compiler(stack):
        for fact in first_of_each_file([f for f in plain if file_of(f) not in with_cuda]):
            yield finding(
                "cpp-extension",
                f"{_named(fact)} is compiled with the environment",
                needed="a C++ compiler, and torch installed first",
                fix='repro.toml, below [dependencies]: system = ["g++"]',
                where=fact.where,
            )
    for fact in facts(stack, "build-needs-torch"):
        folder = file_of(fact).rpartition("/")[0] or "."
        yield finding(
            "build-needs-torch",
            f"the build imports torch: `{fact.text}`",
            needed="torch installed before it, and a build that sees it",
            fix=f"pip install --no-build-isolation ./{folder}",
            where=fact.where,
        )


def extensions_at_run(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on extensions that are compiled when the program first uses them."""
    found = facts(stack, "jit-extension")
    if found and nvcc_of(stack) is None:
        yield finding(
            "jit-extension",
            f"{places(found)}: `{found[0].text}`",
            needed=f"{_nvcc(stack)}, a C++ compiler and ninja in the image that runs",
            fix=[
                _IN_IMAGE,
                "or compile it beforehand, and put its wheel into a folder of dependencies.find_links",
            ],
            where=found[0].where,
        )
    elif found:
        yield finding(
            "jit-extension-cache",
            f"{places(found)}: `{found[0].text}`",
            needed="a cache of its own for each kind of card",
            fix="TORCH_EXTENSIONS_DIR=/tmp/torch_extensions",
            where=found[0].where,
        )


def loose_kernels(stack: Stack, _: Target) -> Iterator[Finding]:
    """A finding on CUDA sources that nothing in the code builds, as far as can be seen."""
    builders = facts(stack, "cuda-extension", "jit-extension", "cupy", "pycuda")
    folders = [f"{file_of(f).rpartition('/')[0]}/".lstrip("/") for f in builders]
    loose = [
        f for f in facts(stack, "cuda-source") if not any(f.where.startswith(folder) for folder in folders)
    ]
    if loose:
        yield finding(
            "cuda-source", f"CUDA code at {places(loose)}", needed=_nvcc(stack), where=loose[0].where
        )


def leftovers(stack: Stack, target: Target) -> Iterator[Finding]:
    """Findings on compiled files in the code."""
    for fact in stack.sources:
        if fact.kind == "build-folder":
            card = f" for {target.capability}" if target.capability else ""
            yield finding(
                "stale-build",
                f"{fact.where}: {fact.text}",
                needed=f"code compiled{card} with this Python and torch",
                fix=[f"git rm -r --cached {fact.where}", "then compile it again for the target"],
                where=fact.where,
            )


def _needs_nvcc(fact: SourceFact, stack: Stack, target: Target) -> Finding:
    listed = arch_list(stack.torch, [target.capability]).value if target.capability else ""
    return finding(
        "cuda-extension",
        f"{_named(fact)} is compiled with the environment, and nothing says that the base image has nvcc",
        needed=f"{_nvcc(stack)}, a C++ compiler, torch installed first, and a list of targets",
        fix=[
            _IN_IMAGE,
            *([f"TORCH_CUDA_ARCH_LIST={listed}"] if listed else []),
            "or a wheel that was built elsewhere, its folder in dependencies.find_links",
        ],
        where=fact.where,
    )


def _named(fact: SourceFact) -> str:
    return f"the extension `{fact.name}`" if fact.name else f"`{fact.text}`"


def _nvcc(stack: Stack) -> str:
    cuda = stack.torch.cuda
    return (
        f"nvcc of CUDA {cuda.partition('.')[0]} (torch is built with {cuda})"
        if cuda
        else "nvcc of torch's CUDA major"
    )
