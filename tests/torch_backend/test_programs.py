"""Whole programs: the examples, how they start, deadlines and bad ends."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mpicoll.launch.command import clean_environment, mpiexec_command
from mpicoll.launch.library import find_launcher, find_library
from mpicoll.launch.supervise import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "torch"
SECONDS = 240  # much longer than any of them takes; machines of tests may be slow


def execute(n, *argv):
    """Run a program on `n` ranks; its outcome, with the output of all."""
    return run(n, [str(word) for word in argv], timeout=SECONDS, all_output=True)


@pytest.mark.parametrize("name", ["ddp", "fsdp", "tensor_parallel", "pipeline", "moe"])
def test_examples(name):
    outcome = execute(2, EXAMPLES / f"{name}.py")
    assert outcome.returncode == 0, outcome.report + outcome.output
    assert "the same losses" in outcome.output and "as the formulas say" in outcome.output


HANG = """
import sys, time, datetime, torch, torch.distributed as dist, mpicoll.torch
dist.init_process_group("mpicoll", timeout=datetime.timedelta(seconds=2))
rank, tensor = dist.get_rank(), torch.ones(300000)
dist.all_reduce(tensor)
try:
    if rank == 1:
        time.sleep(15)
    elif rank == 2:
        dist.broadcast(tensor, 0, async_op=True).wait()
    else:
        dist.all_reduce(tensor)
except dist.DistBackendError as error:
    print(error, flush=True)
    try:
        dist.barrier()
    except dist.DistBackendError as again:
        print(str(again).splitlines()[0], flush=True)
    if "raise" in sys.argv:
        raise
"""


def test_deadlines_raise_on_all_ranks_with_a_report(tmp_path):
    program = tmp_path / "hang.py"
    program.write_text(HANG)
    outcome = execute(3, program)
    for rank in (0, 2):
        assert f"rank {rank}: Timed out after 2 s in " in outcome.output
    assert "barrier on a group that has failed before" in outcome.output
    assert "rank 0 waits in all_reduce, number 2 of the group of ranks 0-2" in outcome.output
    assert "rank 1 does not wait" in outcome.output and "time.sleep(15)" in outcome.output
    assert "rank 2 waits in broadcast, number 2" in outcome.output


def by_mpirun(n, *argv):
    """Without mpicoll's launcher, which would end the job by itself."""
    program = [sys.executable, *map(str, argv)]
    command, more = mpiexec_command(n, program, find_launcher(find_library()))
    env = clean_environment() | more
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS)


FAIL = """
import torch, torch.distributed as dist, mpicoll.torch
dist.init_process_group("mpicoll")
if dist.get_rank() == 1:
    raise KeyError("a mistake of rank 1")
dist.all_reduce(torch.ones(300000))
"""


@pytest.mark.parametrize("program", [FAIL, HANG], ids=["fails", "hangs"])
def test_the_job_ends_where_one_rank_fails(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(program)
    ended = by_mpirun(3, path, "raise")
    assert ended.returncode != 0
    assert "mpicoll.torch: this rank has failed; ending all ranks" in ended.stderr


def test_torchrun_without_mpi_is_refused_in_a_sentence(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torch.distributed as d, mpicoll.torch as t\n")
    with program.open("a") as file:
        file.write('d.init_process_group("mpicoll")\n')
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--master-port", "0", "--standalone", str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode != 0
    assert "started by torchrun as rank " in ended.stderr
    assert "mpirun -n 2 python program.py" in ended.stderr
