"""Checkpoints of one number of ranks for another."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest


def test_training_goes_on_after_every_change_of_size(execute, size):
    execute("checkpoint", "--steps", 2, "--sizes", f"1,{size},{max(1, size - 1)}", "--batch", 5)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("mistake", ["steps", "moments"])
def test_a_classic_mistake_is_found(execute, mistake):
    report = execute(
        "checkpoint", "--steps", 2, "--sizes", "2,1", "--mistake", mistake, passes=False
    )
    wrong = {check["what"] for check in report["checks"] if not check["passed"]}
    assert wrong == {"losses", "phase 1: 1 ranks: parameters"}


@pytest.fixture
def saved(comm, ours, rank):
    """A checkpoint of all ranks, and a state that could load it."""
    # Not tmp_path: the ranks' pytests would make and sweep numbered folders at the same time.
    from checkpoint import Sharded, save
    from counting import Group, Traffic
    from model import Config, initial

    directory = Path(comm.bcast(tempfile.mkdtemp() if rank == 0 else None))
    state = Sharded(Group(ours, "test", Traffic()), initial(Config(5, 3, 4, 2, 1, 6)))
    save(directory, state)
    comm.Barrier()
    yield directory, state
    comm.Barrier()
    if rank == 0:
        shutil.rmtree(directory)


def outcome(directory, state):
    """What `load` says on this rank, or None; the collectives of the others are not waited for."""
    from checkpoint import CheckpointError, load
    from counting import Group, Traffic
    from mpi4py import MPI

    from mpicoll import Intracomm

    alone = Group(Intracomm(MPI.COMM_SELF), "alone", Traffic())
    state = type(state)(alone, state.shapes)
    try:
        load(directory, state)
    except CheckpointError as error:
        return str(error)


def test_without_an_index_a_checkpoint_is_incomplete(comm, rank, saved):
    directory, _ = saved
    assert outcome(*saved) is None
    comm.Barrier()
    if rank == 0:
        (directory / "index.json").unlink()
    comm.Barrier()
    assert "no complete checkpoint" in outcome(*saved)


def test_damage_and_loss_are_noticed(comm, rank, size, saved):
    directory, _ = saved
    path = directory / f"mean-{size - 1}-of-{size}.bin"
    comm.Barrier()
    if rank == 0:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    comm.Barrier()
    assert f"{path} is damaged" in outcome(*saved)
    comm.Barrier()
    if rank == 0:
        path.unlink()
    comm.Barrier()
    assert f"{path} is missing" in outcome(*saved)


def test_another_model_is_refused(comm, rank, saved):
    directory, _ = saved
    comm.Barrier()
    if rank == 0:
        index = json.loads((directory / "index.json").read_bytes())
        index["shapes"]["final.gain"] = [5]
        (directory / "index.json").write_text(json.dumps(index))
    comm.Barrier()
    assert "of another model" in outcome(*saved)
