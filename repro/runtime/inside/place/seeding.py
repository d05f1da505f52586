"""Whether weights were drawn before or after the program seeded torch."""


def untouched(torch):
    """Whether the default generator is as seeding left it: nothing was drawn since. Draws nothing itself."""
    fresh = torch.Generator()
    fresh.manual_seed(torch.initial_seed())
    return bool((fresh.get_state() == torch.get_rng_state()).all())
