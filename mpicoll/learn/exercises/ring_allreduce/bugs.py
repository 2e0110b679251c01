"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="phase_two_starts_left",
        old="        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size\n",
        new="        outgoing, incoming = (rank - step - 1) % size, (rank - step - 2) % size\n",
        outcome="wrong",
        size=4,
    ),
    Bug(
        name="forgets_the_tail",
        old="    mine = np.array_split(sendbuf.reshape(-1), size)\n"
        "    result = np.array_split(recvbuf.reshape(-1), size)\n",
        new="    n = sendbuf.size // size\n"
        "    mine = [sendbuf[b * n : (b + 1) * n] for b in range(size)]\n"
        "    result = [recvbuf[b * n : (b + 1) * n] for b in range(size)]\n",
        outcome="wrong",
        size=4,
    ),
    Bug(
        name="phase_one_a_step_short",
        old="    for step in range(1, size):\n",
        new="    for step in range(1, size - 1):\n",
        outcome="wrong",
        size=4,
        n=4,
    ),
    Bug(
        name="rebinding",
        old="    result[rank][:] = partial\n",
        new="    result[rank] = partial\n",
        outcome="wrong",
        size=4,
    ),
]
