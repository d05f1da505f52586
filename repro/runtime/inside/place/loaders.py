"""How the training's DataLoader was set up: read when it is first walked with gradients on."""

import functools


class Loaders:
    """Facts of the first DataLoader of the training, by the name under which they are recorded."""

    def __init__(self):
        self.facts = {}

    def walked(self, loader):
        """A DataLoader is about to be walked; all that is read of it are plain attributes."""
        if self.facts:
            return
        own = getattr(loader, "__dict__", {})
        self.facts = {
            "loader.workers": own.get("num_workers"),
            "loader.batch_size": own.get("batch_size"),
            "loader.drop_last": own.get("drop_last"),
            "loader.sampler": type(own.get("sampler")).__name__,
            "loader.generator": "own" if own.get("generator") is not None else "global",
            "loader.worker_init": own.get("worker_init_fn") is not None,
            "loader.start_method": _start_method(own),
        }

    def conditions(self):
        """Those that are known, by name; empty without a DataLoader."""
        return {name: value for name, value in self.facts.items() if value is not None}


def _start_method(own):
    if not own.get("num_workers"):
        return None
    context = own.get("_DataLoader__multiprocessing_context")
    if context is None:
        import multiprocessing

        return multiprocessing.get_start_method(allow_none=True) or "default"
    return getattr(context, "_name", None)


def install(seat, module):
    """Watch `DataLoader.__iter__`, which every loop over a loader calls."""
    original = module.DataLoader.__iter__

    @functools.wraps(original)
    def __iter__(self):  # noqa: N807 (it is one)
        recorder = seat.present()
        if recorder is not None and recorder.torch.is_grad_enabled():
            recorder.loaders.walked(self)
        return original(self)

    module.DataLoader.__iter__ = __iter__
