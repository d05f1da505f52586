"""Conditions that need no torch: Python, machine, and the environment variables that can change a number."""

import os
import platform
import sys

# Names, and beginnings of names, of variables that choose kernels, threads, precision, devices or seeds.
EXACT = (
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "PYTHONHASHSEED",
    "MALLOC_CONF",
    "LD_PRELOAD",
    "GOMP_CPU_AFFINITY",
    "LRU_CACHE_CAPACITY",
    "XLA_FLAGS",
    "WORLD_SIZE",
    "LANG",
    "LC_ALL",
    "TZ",
)
BEGINNINGS = (
    "MKL_",
    "ONEDNN_",
    "DNNL_",
    "OMP_",
    "KMP_",
    "OPENBLAS_",
    "BLIS_",
    "NPY_",
    "PYTORCH_",
    "TORCH_",
    "TORCHINDUCTOR_",
    "TRITON_",
    "CUDA_",
    "CUDNN_",
    "CUBLAS_",
    "NCCL_",
    "GLOO_",
    "HIP_",
    "HSA_",
    "ROCBLAS_",
    "MIOPEN_",
)
SECRET_PARTS = ("TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "ACCESS_KEY")
# Set by the supervisor for every run alike, or paths that cannot change a number.
OURS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def environment(environ):
    """`env.NAME` for every variable that is set, matters, and does not look like a secret."""
    return {
        "env." + name: value
        for name, value in sorted(environ.items())
        if (name in EXACT or name.startswith(BEGINNINGS))
        and name not in OURS
        and not any(part in name.upper() for part in SECRET_PARTS)
    }


def hash_seed():
    """`random`, or the fixed number that orders sets and dictionaries of strings."""
    given = os.environ.get("PYTHONHASHSEED", "")
    return given if given not in ("", "random") else ("random" if sys.flags.hash_randomization else "0")


def cpu_model():
    """Name of the processor; on machines whose kernel gives none, its implementer and part numbers."""
    found = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            for line in f:
                key, _, value = line.partition(":")
                found.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    if found.get("model name"):
        return found["model name"]
    if found.get("CPU implementer"):
        return "implementer %s part %s" % (found["CPU implementer"], found.get("CPU part", "?"))
    return platform.processor() or platform.machine()


def libc():
    """Name and version of the C library."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    except (ValueError, OSError):
        return " ".join(platform.libc_ver()).strip() or "unknown"


def memory_bytes():
    """Memory of the machine, None when it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


READERS = {
    "python.version": platform.python_version,
    "python.implementation": platform.python_implementation,
    "cpu.model": cpu_model,
    "hash_seed": hash_seed,
    "platform.machine": platform.machine,
    "platform.libc": libc,
    "memory.total_bytes": memory_bytes,
}


def read_all(readers):
    """Value by name; a reader that raises gives `unknown`, one that returns None is left out."""
    values = {}
    for name, reader in readers.items():
        try:
            value = reader()
        except Exception:
            value = "unknown"
        if value is not None:
            values[name] = value
    return values


def conditions():
    """All conditions of this file, as they are in the calling process."""
    values = read_all(READERS)
    values.update(environment(os.environ))
    return values
