"""Where a run starts: the seed state in place, noise on it, a state for a dense first step; state 0 kept."""

from . import optstate
from . import saved as state
from .copies import Copies
from .perturb import perturb

NO_CALL = (
    "no module was called between the making of the optimizer and its first step: the gradients are"
    " those of the program's own weights, so the state was not put in place"
)
GOES_ON = "the program goes on from a checkpoint: its optimizer has taken steps already"


def has_gradients(params):
    """Whether one of these tensors has a gradient."""
    return any(p.grad is not None for p in params)


class Start:
    """What is done at the moment of a plan, and again when that moment turns out to be a later one."""

    def __init__(self, plan, wanted):
        self.plan = plan
        self.journal = plan.journal
        self.torch = plan.journal.torch
        self.seed, self.digest = wanted.get("seed") or "", wanted.get("digest") or ""
        self.member = wanted.get("perturb")
        self.names = None
        self.prints = []
        self.changed = set()
        self.copied = 0
        self.noise = {}

    @property
    def asked(self):
        """Whether there is anything to do."""
        return bool(self.changes or 0 in self.plan.saves or 1 in self.plan.dense)

    @property
    def changes(self):
        """Whether the state with which the program starts is to be another one."""
        return bool(self.seed or self.member is not None or (1 in self.plan.dense and self.plan.sync))

    def covers(self, layout):
        """Whether the state of these weights is in place."""
        return self.names == layout.names

    def has_gradients(self):
        """Whether backward has run for an optimizer's weights already."""
        alive = [o for o in (ref() for ref in self.journal.made) if o is not None]
        return any(has_gradients(group["params"]) for o in alive for group in o.param_groups)

    def place(self, layout):
        """Put in place the seed, the noise, the state before a dense step 1; False for none of it."""
        if self.seed and not self._put_seed(layout):
            return False
        if self.member is not None:
            self._perturb(layout)
        if 1 in self.plan.dense:
            self.plan.open(1, layout)
        if 0 in self.plan.saves:
            self.plan.save(0, layout)
        self.names, self.prints = list(layout.names), self._prints(layout)
        # Buffers noted before this moment are not those that the training starts with.
        self.journal.forward.forget()
        self.journal.forward.met.clear()
        return True

    def too_late(self, layout):
        """The first step comes without any call before it: keep what there is."""
        if 0 in self.plan.saves:
            self.plan.save(0, layout)
        if 1 in self.plan.dense:
            reason = "no module was called before the first step"
            self.plan.event("modules-unknown", modules=[], reason=reason)

    def tell(self, layout):
        """Write down what was done, and whether the program has moved a weight since."""
        moved = sum(a != b for a, b in zip(self.prints, self._prints(layout))) if self.prints else 0
        if self.seed:
            self.plan.event(
                "seed-checkpoint", applied=True, digest=self.digest, changed=len(self.changed),
                copies=self.copied, moved=moved,
            )  # fmt: skip
        if self.member is not None:
            self.plan.event("perturbed", member=self.member, moved=moved)

    def not_applied(self, reason):
        """The seed has no place here: the run goes on, and its record says so."""
        if self.seed:
            self.plan.event("seed-checkpoint", applied=False, digest=self.digest, reason=reason)

    def _put_seed(self, layout):
        seed = state.State(self.torch, self.seed)
        begun = next(optstate.entries(layout), None)
        if begun is not None and not any(name.startswith("s.") for name in seed.file.rows):
            if self.plan.partial:
                self.plan.refuse(GOES_ON)
            self.not_applied(GOES_ON)
            return False
        seed.check(layout)
        self.changed.update(seed.put_weights(layout, Copies(self.torch, layout)))
        self.copied += seed.copied
        return True

    def _perturb(self, layout):
        """Move the weights, but not those that lie as our own noise has left them already."""
        fresh = [self.noise.get(id(p)) != f for p, f in zip(layout.params, self._prints(layout))]
        perturb(self.torch, [p if new else p[:0] for p, new in zip(layout.params, fresh)], self.member)
        self.noise = {id(p): f for p, f in zip(layout.params, self._prints(layout))}

    def _prints(self, layout):
        found = [self.journal.prints.of(p.detach(), 0) for p in layout.params]
        return [f if isinstance(f, int) else f.item() for f in found]
