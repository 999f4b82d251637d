"""How fast numafit is, as ratios and beside its goals: `python -m tests.bench`."""
