"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="last_rank_sends_too",
        old="        if rank < last:\n",
        new="        if rank <= last:\n",
        outcome="error",
        size=3,
    ),
    Bug(
        name="receive_all_first",
        old="""    for number, batch in enumerate(inputs):
        if rank > 0:
            batch = np.empty_like(batch)
            comm.Recv(batch, rank - 1)
""",
        new="""    if rank > 0:
        inputs = np.empty_like(inputs)
        for batch in inputs:
            comm.Recv(batch, rank - 1)
    for number, batch in enumerate(inputs):
""",
        outcome="right",
        size=3,
    ),
]
