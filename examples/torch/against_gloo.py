"""Time torch's collectives on mpicoll and on gloo, in turn in one run, and a step of DDP.

mpirun -n 4 python examples/torch/against_gloo.py
mpirun -n 2 python examples/torch/against_gloo.py --sizes 8,64KiB --seconds 0.5 all_reduce broadcast

Columns: median microseconds of the slowest rank, and the ratio (below 1: mpicoll is faster).
"""

import argparse
import os

import torch
import torch.distributed as dist
from mpi4py import MPI
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import mpicoll.torch  # noqa: F401
from mpicoll.bench.figures import geometric_mean, summarise
from mpicoll.bench.timing import Action, Limits, measure
from mpicoll.commands.units import parse_bytes, show_bytes, write_json

all_gather_single = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
reduce_scatter_single = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
SIZES = "8,1KiB,64KiB,1MiB,16MiB,64MiB"


def barrier(group, whole, part, parts):
    dist.barrier(group=group)


def broadcast(group, whole, part, parts):
    dist.broadcast(whole, 0, group=group)


def all_reduce(group, whole, part, parts):
    dist.all_reduce(whole, group=group)


def reduce(group, whole, part, parts):
    dist.reduce(whole, 0, group=group)


def all_gather(group, whole, part, parts):
    dist.all_gather(parts, part, group=group)


def all_gather_into_tensor(group, whole, part, parts):
    all_gather_single(whole, part, group=group)


def gather(group, whole, part, parts):
    dist.gather(part, parts if dist.get_rank() == 0 else None, 0, group=group)


def scatter(group, whole, part, parts):
    dist.scatter(part, parts if dist.get_rank() == 0 else None, 0, group=group)


def reduce_scatter(group, whole, part, parts):
    dist.reduce_scatter(part, parts, group=group)


def reduce_scatter_tensor(group, whole, part, parts):
    reduce_scatter_single(part, whole, group=group)


def all_to_all(group, whole, part, parts):
    dist.all_to_all(others(parts), parts, group=group)


def all_to_all_single(group, whole, part, parts):
    dist.all_to_all_single(other(whole), whole, group=group)


def send_recv(group, whole, part, parts):
    rank = dist.get_rank()
    if rank < 2:
        dist.send(whole, 1, group=group) if rank == 0 else dist.recv(whole, 0, group=group)


COLLECTIVES = [barrier, broadcast, all_reduce, reduce, all_gather, all_gather_into_tensor, gather]
COLLECTIVES += [scatter, reduce_scatter, reduce_scatter_tensor, all_to_all, all_to_all_single]
COLLECTIVES += [send_recv]
_kept = {}


def other(tensor):
    """Another tensor of this size, always the same."""
    key = tensor.data_ptr(), tensor.numel()
    if key not in _kept:
        _kept[key] = torch.zeros_like(tensor)
    return _kept[key]


def others(tensors):
    """Parts of another tensor, for parts of one."""
    return list(other(tensors[0]._base).chunk(len(tensors)))


def ddp_step(group):
    """One step of training a multilayer perceptron of 1.1 million parameters."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU())
    net = DistributedDataParallel(net, process_group=group, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(32, 512)

    def step():
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    return step


def compared(world, groups, make, limits):
    """Medians of mpicoll and gloo in microseconds."""
    times = measure(world, [Action(make(group)) for group in groups], limits)
    return [summarise(own).p50 * 1e6 for own in times]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default=SIZES, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each row (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the rows to a file too")
    parser.add_argument("which", nargs="*", metavar="COLLECTIVE", help="default: all, and ddp")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("mpicoll")
    world, rank, size = MPI.COMM_WORLD, dist.get_rank(), dist.get_world_size()
    groups = dist.group.WORLD, dist.new_group(backend="gloo")
    limits, rows = Limits(1000, args.seconds), []

    def show(name, nbytes, medians):
        ratio = medians[0] / medians[1]
        rows.append({"collective": name, "ranks": size, "nbytes": nbytes, "mpicoll_us": medians[0]})
        rows[-1] |= {"gloo_us": medians[1], "ratio": ratio}
        if rank == 0:
            shown = show_bytes(nbytes) if nbytes is not None else "-"
            numbers = f"{medians[0]:>12.1f}{medians[1]:>12.1f}{ratio:>8.2f}"
            print(f"{name:<24}{shown:>9}{numbers}", flush=True)

    if rank == 0:
        cores = os.cpu_count()
        print(f"P = {size}, {cores} cores" + (", oversubscribed" if size > cores else ""))
        print(f"{'collective':<24}{'size':>9}{'mpicoll':>12}{'gloo':>12}{'ratio':>8}")
    for run in COLLECTIVES:
        if args.which and run.__name__ not in args.which:
            continue
        for nbytes in [None] if run is barrier else map(parse_bytes, args.sizes.split(",")):
            count = max(size, (nbytes or 0) // 4 // size * size)
            whole = torch.zeros(count)
            parts = list(whole.chunk(size))
            part = torch.zeros(count // size)
            make = lambda group: lambda: run(group, whole, part, parts)  # noqa: B023, E731
            show(run.__name__, nbytes and whole.nbytes, compared(world, groups, make, limits))
            _kept.clear()
    if not args.which or "ddp" in args.which:
        show("ddp step", None, compared(world, groups, ddp_step, limits))
    if rank == 0:
        mean = geometric_mean(row["ratio"] for row in rows)
        slower = [row for row in rows if row["ratio"] > 1]
        print(f"geometric mean of the ratios {mean:.2f}; {len(slower)} of {len(rows)} above 1")
        if args.json:
            write_json(args.json, rows)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
