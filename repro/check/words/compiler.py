"""Which nvcc and which gcc the words about a package name."""

import re

_NUMBER = r"[-=: ]*v?(\d{1,2}\.\d{1,2})"
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:nvcc|compiler)[\s,(]*(?:of\s+)?(?:CUDA\s*)?(?:version\s*|release\s*)?{_NUMBER}",
        rf"nvcc[^.;,]{{0,20}}CUDA{_NUMBER}",
        rf"compilation tools,?\s*release\s*{_NUMBER}",
        rf"release\s*{_NUMBER},\s*V\d",
        rf"toolkit\s*(?:version\s*|(?:of\s+)?CUDA\s*)?{_NUMBER}",
        rf"(?:installed|system|local|detected)\s+CUDA\s*(?:version\s*)?{_NUMBER}",
        r"CUDA[- ]?v?(\d{1,2}\.\d{1,2})(?:\.\d+)?(?:'s)?\s+(?:toolkit|compiler|nvcc|sdk)",
        r"/cuda-(\d{1,2}\.\d{1,2})\b",
    )
)
# Of something compiled, the CUDA that it was compiled with.
_WITH = re.compile(
    r"(?:compil\w+|built|build|installed?)\b[^.;]{0,30}?\b(?:with|using|by|under|in|on)\s+"
    rf"(?:the\s+)?CUDA{_NUMBER}",
    re.IGNORECASE,
)

# `gcc 9`, `g++-11.2`, `GCC (Ubuntu 9.4.0-1ubuntu1) 9.4.0`; not the date behind it, not `gcc <= 8`.
_GCC = re.compile(
    r"(?<![\w-])(?:gcc|g\+\+|gxx|gnu c(?:\+\+)?)(?:\s*/\s*g\+\+)?\s*(?:\([^)]*\))?"
    r"(?:\s*version)?[-=:\s]*v?(\d{1,2}(?:\.\d{1,2})?)(?![\d])",
    re.IGNORECASE,
)


def compiler_in(how: str, *, compiled: bool) -> str:
    """`11.5` of `nvcc 11.5`, `release 11.5, V11.5.119`, `CUDA 11.5 toolkit` or `compiled with CUDA 11.5`.

    Empty for none. The last form counts where the words say that it was `compiled`, not taken as a file.
    """
    found = next((match for pattern in _NAMED if (match := pattern.search(how))), None)
    if found is None and compiled:
        found = _WITH.search(how)
    return found[1] if found else ""


def host_compiler_in(words: str) -> str:
    """`11.2` of `gcc 11.2.0`, `9` of `g++-9`; empty for none, and where two different ones are named."""
    majors = {found.partition(".")[0] for found in _GCC.findall(words)}
    return _GCC.findall(words)[0] if len(majors) == 1 else ""
