"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="index_with_a_list",
        old="            comm.Recv(pieces[peer], peer)\n",
        new="            comm.Recv(pieces[[peer]], peer)\n",
        outcome="wrong",
        size=3,
    ),
    Bug(
        name="own_piece_forgotten",
        old="    pieces[root] = sendbuf.reshape(-1)\n",
        new="    pass\n",
        outcome="wrong",
        size=3,
    ),
]
