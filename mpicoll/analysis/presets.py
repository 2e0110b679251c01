"""Networks by name: typical figures of their class, to compare algorithms; no particular machine.

Measured figures of a machine belong into a file: see `mpicoll.analysis.fit`. The bandwidths are
what the content of messages gets of the nominal ones (94 % on Ethernet with TCP, 97 % on
InfiniBand); latencies and overheads are of the size that public ping-pong tables show.
"""

from __future__ import annotations

from mpicoll.analysis.network import Level, Network

__all__ = ["PRESETS"]

# Two ranks copy through shared memory: the copies of a rank's sends and receives share its time.
_MEMORY = Level(latency=0.4e-6, overhead=0.4e-6, per_byte=0.12e-9, gap=0.1e-6, duplex=False)

#: Seconds per byte of a sum of two vectors, and of a copy, that do not fit into the caches.
_REDUCE, _COPY = 0.12e-9, 0.08e-9

PRESETS: dict[str, Network] = {
    preset.name: preset
    for preset in (
        Network("laptop", _MEMORY, cores=8, reduce=_REDUCE, copy=_COPY, rendezvous=65536),
        Network(
            "ethernet-1g",
            _MEMORY,
            Level(latency=25e-6, overhead=5e-6, per_byte=8.5e-9, gap=1e-6),
            ranks_per_node=1,
            reduce=_REDUCE,
            copy=_COPY,
            rendezvous=65536,
        ),
        Network(
            "ethernet-10g",
            _MEMORY,
            Level(latency=10e-6, overhead=4e-6, per_byte=0.85e-9, gap=1e-6),
            ranks_per_node=1,
            reduce=_REDUCE,
            copy=_COPY,
            rendezvous=65536,
        ),
        Network(
            "ethernet-25g",
            _MEMORY,
            Level(latency=8e-6, overhead=3e-6, per_byte=0.34e-9, gap=1e-6),
            ranks_per_node=1,
            reduce=_REDUCE,
            copy=_COPY,
            rendezvous=65536,
        ),
        # A fat tree of 100 Gbit/s links, 16 nodes and 8 uplinks per leaf switch (2:1 taper).
        Network(
            "infiniband",
            _MEMORY,
            Level(latency=0.7e-6, overhead=0.3e-6, per_byte=0.082e-9, gap=0.05e-6),
            ranks_per_node=1,
            reduce=_REDUCE,
            copy=_COPY,
            rendezvous=8192,
            nodes_per_switch=16,
            uplinks=8,
            switch_latency=0.3e-6,
        ),
    )
}
