import pytest
from slurm import Slurm, unavailable


@pytest.fixture(scope="session")
def slurm():
    """Slurm on two hosts of two CPUs each."""
    if reason := unavailable():
        pytest.skip(reason)
    with Slurm(2, 2) as running:
        yield running
