"""Our sampler with everything automatic beside its peers, on easy and hard problems."""
