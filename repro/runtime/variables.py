"""Which environment variables can change a number, and what is kept of them."""

import os

# They choose kernels, threads, precision, devices, seeds, languages or what is imported.
EXACT = (
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "PYTHONOPTIMIZE",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "PYTHONNOUSERSITE",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "GOMP_CPU_AFFINITY",
    "LRU_CACHE_CAPACITY",
    "XLA_FLAGS",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "LANG",
    "LC_ALL",
    "LC_COLLATE",
    "LC_NUMERIC",
    "TZ",
    "SOURCE_DATE_EPOCH",
    "TOKENIZERS_PARALLELISM",
    "HF_HUB_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "PL_GLOBAL_SEED",
    "PL_SEED_WORKERS",
)
BEGINNINGS = (
    "MKL_",
    "ONEDNN_",
    "DNNL_",
    "OMP_",
    "KMP_",
    "GOTO_",
    "OPENBLAS_",
    "BLIS_",
    "VECLIB_",
    "NUMEXPR_",
    "TBB_",
    "MALLOC_",
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
    "HIPBLASLT_",
    "MIOPEN_",
    "ACCELERATE_",
    "TRANSFORMERS_",
    "FSDP_",
    "DEEPSPEED_",
    "XFORMERS_",
    "FLASH_ATTENTION_",
    "NVTE_",
)
SECRET_PARTS = ("TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "ACCESS_KEY", "AUTH")
# Names that say TOKEN and mean words of a text.
NO_SECRETS = ("TOKENIZERS_PARALLELISM",)
# Set by the supervisor for every run alike, or paths that cannot change a number.
OURS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def is_secret(name):
    """Whether a variable's name says that nobody else may know its value."""
    return name not in NO_SECRETS and any(part in name.upper() for part in SECRET_PARTS)


def environment(environ):
    """`env.NAME` for every variable that is set, matters, and does not look like a secret."""
    found = {}
    for name, value in sorted(environ.items()):
        if (name in EXACT or name.startswith(BEGINNINGS)) and name not in OURS and not is_secret(name):
            found["env." + name] = value
    if "env.PYTHONPATH" in found:
        found["env.PYTHONPATH"] = import_path(environ["PYTHONPATH"], environ.get("REPRO_RUNTIME_INJECT", ""))
        if not found["env.PYTHONPATH"]:
            del found["env.PYTHONPATH"]
    return found


def import_path(text, inject=""):
    """PYTHONPATH without our own folder; places below the working folder are told from there."""
    here = os.getcwd()
    kept = []
    for word in text.split(os.pathsep):
        if not word or word == inject:
            continue
        path = os.path.abspath(word)
        inside = path == here or path.startswith(here + os.sep)
        kept.append(os.path.relpath(path, here) if inside else word)
    return os.pathsep.join(kept)
