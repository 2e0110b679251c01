"""Finding out what went wrong among ranks: hangs, calls that do not match, wrong environments."""
