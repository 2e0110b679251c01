"""Rounds in a row, times the seconds of one round."""


def cost_model(size, nbytes, alpha, beta, segments):
    """Return the seconds of the five algorithms."""
    if size == 1:
        return [0.0] * 5

    def message(length):
        return alpha + beta * length

    log_up, log_down = (size - 1).bit_length(), size.bit_length() - 1
    folding = 0 if log_up == log_down else 2
    return [
        (size - 1) * message(nbytes),
        log_up * message(nbytes),
        (size - 2 + segments) * message(nbytes / segments),
        2 * (size - 1) * message(nbytes / size),
        (log_down + folding) * message(nbytes),
    ]
