"""What the programs here share: starting, comparing losses, and bytes against formulas."""

import os

# The ring, so that bytes are those of the formulas whatever the size.
os.environ.setdefault("MPICOLL_ALLREDUCE", "ring")
os.environ.setdefault("MPICOLL_REDUCE_SCATTER", "ring")
os.environ.setdefault("MPICOLL_ALLGATHER", "ring")

import torch
import torch.distributed as dist

import mpicoll.torch  # noqa: F401  (makes the backend known)


def start():
    """This rank and the number of ranks, from MPI."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)  # so that other orders of summation show no difference
    dist.init_process_group("mpicoll")
    return dist.get_rank(), dist.get_world_size()


def groups():
    """The same ranks as a group of each backend."""
    return {"mpicoll": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}


def say(*words):
    """Print on rank 0."""
    if dist.get_rank() == 0:
        print(*words, flush=True)


def compare(losses):
    """Show the losses of all ways side by side; an error if they are not the same."""
    ways = list(losses)
    say("step  " + "".join(f"{way:>16}" for way in ways))
    for step, row in enumerate(zip(*losses.values(), strict=True)):
        say(f"{step:>4}  " + "".join(f"{float(loss):>16.10f}" for loss in row))
    first = torch.tensor(losses[ways[0]])
    for way in ways[1:]:
        torch.testing.assert_close(torch.tensor(losses[way]), first, rtol=1e-9, atol=1e-12)
    say("the same losses")


def against_formula(account, rows):
    """Show what this rank communicated; an error if it is not what the formulas say.

    `rows` are (operation, calls, tensor bytes, formula of the bytes sent, their number).
    """
    say(f"\n{'operation':<26}{'calls':>6}{'tensor bytes':>14}{'bytes sent':>12}  formula")
    for name, calls, nbytes, formula, sent in rows:
        found = account.get(name)
        numbers = f"{found.calls:>6,}{found.tensor_bytes:>14,}{found.sent_bytes:>12,}"
        say(f"{name:<26}{numbers}  {formula}")
        assert found == (calls, nbytes, sent), f"{name}: {found}, expected {calls, nbytes, sent}"
    others = set(account) - {row[0] for row in rows}
    assert not others, f"communicated besides: {others}"
    say("as the formulas say")
