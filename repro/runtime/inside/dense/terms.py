"""How many numbers are added up in one element of a module's output: what its rounding error grows with."""


def _product(numbers):
    found = 1
    for number in numbers:
        found *= int(number)
    return found


def _linear(module, _shape):
    return module.in_features


def _convolution(module, _shape):
    return module.in_channels // module.groups * _product(module.kernel_size)


def _bilinear(module, _shape):
    return module.in1_features * module.in2_features


def _copied(_module, _shape):
    return 1


def _normalized(module, _shape):
    return _product(module.normalized_shape)


def _channel(module, shape):
    return _product(shape) // module.num_features if len(shape) > 1 else None


def _instance(_module, shape):
    return _product(shape[2:]) if len(shape) > 2 else None


def _group(module, shape):
    return _product(shape[1:]) // module.num_groups if len(shape) > 1 else None


def _along(module, shape):
    return shape[-1 if module.dim is None else module.dim] if shape else None


def _window(module, shape):
    size = module.kernel_size
    return _product(size) if isinstance(size, (tuple, list)) else int(size) ** (len(shape) - 2)


def _transposed_weight(module, _shape):
    return module.weight.shape[0]


# By the name of a class or of one that it is derived from; where none is here, nobody knows.
BY_CLASS = {
    "Linear": _linear,
    "_ConvNd": _convolution,
    "Bilinear": _bilinear,
    "Embedding": _copied,
    "Identity": _copied,
    "Dropout": _copied,
    "ReLU": _copied,
    "Flatten": _copied,
    "LayerNorm": _normalized,
    "RMSNorm": _normalized,
    "_BatchNorm": _channel,
    "_InstanceNorm": _instance,
    "GroupNorm": _group,
    "Softmax": _along,
    "LogSoftmax": _along,
    "_AvgPoolNd": _window,
    "Conv1D": _transposed_weight,
}


def terms(module, shape):
    """The number for a module whose first input has this shape, None where it is not known."""
    for kind in type(module).__mro__:
        count = BY_CLASS.get(kind.__name__)
        if count is not None:
            try:
                return max(1, int(count(module, shape)))
            except (AttributeError, IndexError, TypeError, ValueError):
                return None
    return None
