"""Each piece hops once for every bit of the distance that it has to travel."""

import numpy as np


def bruck_alltoall(comm, sendbuf, recvbuf):
    """Place piece `rank` of rank i's `sendbuf` as piece i into `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    table = np.roll(sendbuf.reshape(size, -1), -rank, axis=0)
    distance = 1
    while distance < size:
        hopping = [place for place in range(size) if place & distance]
        outgoing = table[hopping]
        arrived = np.empty_like(outgoing)
        comm.Sendrecv(outgoing, (rank + distance) % size, 0, arrived, (rank - distance) % size, 0)
        table[hopping] = arrived
        distance *= 2
    result = recvbuf.reshape(size, -1)
    for place in range(size):
        result[(rank - place) % size] = table[place]
