"""Which kernels `scaled_dot_product_attention` may take here, told from settings alone: nothing is run."""

# Of the backends that are built in, in the order in which torch tries them unless it says another one.
USUAL = ("flash", "efficient", "math")
NUMBERS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable"}  # SDPBackend
SWITCHES = {
    "flash": "flash_sdp_enabled",
    "efficient": "mem_efficient_sdp_enabled",
    "math": "math_sdp_enabled",
    "cudnn": "cudnn_sdp_enabled",
}
HALF_ONLY = ("flash", "cudnn")  # of these types alone on CUDA; the CPU's own flash kernel takes float32 too


def candidates(torch, device):
    """`half: ...; float32: ...`, backends in the order in which they are asked; None where torch has none."""
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return None
    allowed = [name for name in _order(torch) if _on(torch, name) and _can(torch, name, device)]
    rest = allowed if device.type == "cpu" else [name for name in allowed if name not in HALF_ONLY]
    return "half: %s; float32: %s" % (" ".join(allowed) or "none", " ".join(rest) or "none")


def _order(torch):
    ask = getattr(torch._C, "_get_sdp_priority_order", None)
    if ask is None:
        return USUAL
    return [NUMBERS.get(int(number), "backend-%d" % number) for number in ask()]


def _on(torch, name):
    switch = getattr(torch.backends.cuda, SWITCHES.get(name, ""), None)
    return bool(switch()) if switch is not None else False


def _can(torch, name, device):
    """Whether a card of this capability has the kernel at all (PyTorch documentation, SDPBackend)."""
    if device.type == "cpu":
        return name in ("flash", "math")
    if device.type != "cuda":
        return True
    built = getattr(torch.backends.cuda, "is_flash_attention_available", None)
    if name == "flash" and built is not None and not built():
        return False
    return name not in HALF_ONLY or torch.cuda.get_device_capability(device) >= (8, 0)
