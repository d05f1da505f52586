"""Settings of torch that decide precision or algorithm, by the name under which they are recorded.

Read at the first step, because programs set them after the import. Each is one or more dotted paths
from `torch`, of which the first that is there counts; a path that ends in () is called. A torch that has no
such setting says `absent`; one that refuses to answer, because both families of precision settings
were used (2.9 and later), says `mixed`.
"""

PATHS = {
    "flags.default_dtype": "get_default_dtype()",
    "flags.default_device": "get_default_device()",
    "flags.float32_matmul_precision": "get_float32_matmul_precision()",
    "flags.deterministic_algorithms": "are_deterministic_algorithms_enabled() is_deterministic()",
    "flags.deterministic_warn_only": "is_deterministic_algorithms_warn_only_enabled()",
    "flags.deterministic_fill": "utils.deterministic.fill_uninitialized_memory",
    "flags.anomaly": "is_anomaly_enabled()",
    "flags.cuda_matmul_allow_tf32": "backends.cuda.matmul.allow_tf32",
    "flags.cuda_matmul_fp32_precision": "backends.cuda.matmul.fp32_precision",
    "flags.cuda_matmul_fp16_reduced": "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "flags.cuda_matmul_bf16_reduced": "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    "flags.cuda_matmul_fp16_accumulation": "backends.cuda.matmul.allow_fp16_accumulation",
    "flags.cuda_preferred_linalg": "backends.cuda.preferred_linalg_library()",
    "flags.cuda_preferred_blas": "backends.cuda.preferred_blas_library()",
    "flags.cudnn_enabled": "backends.cudnn.enabled",
    "flags.cudnn_allow_tf32": "backends.cudnn.allow_tf32",
    "flags.cudnn_benchmark": "backends.cudnn.benchmark",
    "flags.cudnn_benchmark_limit": "backends.cudnn.benchmark_limit",
    "flags.cudnn_deterministic": "backends.cudnn.deterministic",
    "flags.cudnn_fp32_precision": "backends.cudnn.fp32_precision",
    "flags.cudnn_conv_fp32_precision": "backends.cudnn.conv.fp32_precision",
    "flags.cudnn_rnn_fp32_precision": "backends.cudnn.rnn.fp32_precision",
    "flags.fp32_precision": "backends.fp32_precision",
    "flags.flash_sdp": "backends.cuda.flash_sdp_enabled()",
    "flags.mem_efficient_sdp": "backends.cuda.mem_efficient_sdp_enabled()",
    "flags.math_sdp": "backends.cuda.math_sdp_enabled()",
    "flags.cudnn_sdp": "backends.cuda.cudnn_sdp_enabled()",
    "flags.math_sdp_reduced": "backends.cuda.fp16_bf16_reduction_math_sdp_allowed()",
    "flags.sdp_priority": "_C._get_sdp_priority_order()",
    "flags.mha_fastpath": "backends.mha.get_fastpath_enabled()",
    "flags.mkldnn_enabled": "backends.mkldnn.enabled _C._get_mkldnn_enabled()",
    "flags.mkldnn_deterministic": "backends.mkldnn.deterministic",
    "flags.mkldnn_allow_tf32": "backends.mkldnn.allow_tf32",
    "flags.mkldnn_fp32_precision": "backends.mkldnn.fp32_precision",
    "flags.mkldnn_matmul_fp32_precision": "backends.mkldnn.matmul.fp32_precision",
    "flags.mkldnn_conv_fp32_precision": "backends.mkldnn.conv.fp32_precision",
    "flags.mkldnn_rnn_fp32_precision": "backends.mkldnn.rnn.fp32_precision",
    "flags.cpu_fp16_reduced": "_C._get_cpu_allow_fp16_reduced_precision_reduction()",
    "flags.nnpack_enabled": "_C._get_nnpack_enabled()",
    "flags.opt_einsum_enabled": "backends.opt_einsum.enabled",
    "flags.opt_einsum_strategy": "backends.opt_einsum.strategy",
}
GONE = (AttributeError, AssertionError, ImportError)


def read_flags(torch):
    """Every flag with its value, as text or truth."""
    return {name: _read(torch, paths.split()) for name, paths in PATHS.items()}


def _read(torch, paths):
    for path in paths:
        try:
            return _plain(_at(torch, path))
        except GONE:
            continue
        except RuntimeError as problem:
            return "mixed" if "mix of the legacy and new" in str(problem) else "unknown: RuntimeError"
        except Exception as problem:
            return "unknown: %s" % type(problem).__name__
    return "absent"


def _at(torch, path):
    value = torch
    for part in path.replace("()", "").split("."):
        value = getattr(value, part)
    return value() if path.endswith("()") else value


def _plain(value):
    if isinstance(value, (list, tuple)):
        return " ".join(str(item) for item in value)
    return value if isinstance(value, (bool, int)) else str(value).replace("torch.", "")
