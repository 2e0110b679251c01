"""Bugs to predict."""

from mpicoll.learn.bug import Bug

START = (
    "    weights[:] = allreduce("
    "comm, weights if comm.Get_rank() == 0 else np.zeros_like(weights))\n"
)
BUGS = [
    Bug(
        name="mean_of_means",
        old="        *total, samples = allreduce(comm, np.append(gradient, len(targets)))\n"
        "        weights -= rate * np.array(total) / samples\n",
        new="        mean = gradient / max(len(targets), 1)\n"
        "        weights -= rate * allreduce(comm, mean) / comm.Get_size()\n",
        outcome="wrong",
        size=3,
    ),
    Bug(
        name="own_start",
        old=START,
        new="",
        outcome="wrong",
        size=3,
    ),
    Bug(
        name="idle_rank_leaves",
        old="    for _ in range(steps):\n",
        new="    for _ in range(steps if len(targets) else 0):\n",
        outcome="hang",
        size=3,
    ),
]
