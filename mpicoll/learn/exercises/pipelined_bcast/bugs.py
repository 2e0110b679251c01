"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="pass_on_before_receiving",
        old="        if rank != root:\n            comm.Recv(segment, left)\n"
        "        if right != root:\n            requests.append(comm.Isend(segment, right))\n",
        new="        if right != root:\n            requests.append(comm.Isend(segment, right))\n"
        "        if rank != root:\n            comm.Recv(segment, left)\n",
        outcome="wrong",
        size=3,
    ),
    Bug(
        name="forgets_to_wait",
        old="    MPI.Request.Waitall(requests)\n",
        new="",
        outcome="right",
        size=3,
    ),
]
