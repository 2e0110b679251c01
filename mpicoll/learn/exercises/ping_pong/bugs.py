"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="both_receive_first",
        old="""            comm.Send(ball, dest=1)
            comm.Recv(ball, source=1)
""",
        new="""            comm.Recv(ball, source=1)
            comm.Send(ball, dest=1)
""",
        outcome="hang",
        size=2,
    ),
    Bug(
        name="new_array",
        old="            ball += 1\n",
        new="            ball = ball + 1\n",
        outcome="wrong",
        size=2,
    ),
]
