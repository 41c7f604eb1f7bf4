"""Pure rules: no I/O, no clock, standard library only."""
