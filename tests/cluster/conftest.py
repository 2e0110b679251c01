import pytest
from cluster import Cluster, unavailable


@pytest.fixture(scope="session")
def possible():
    """Skip where there can be no cluster, and say why."""
    if reason := unavailable():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def pair(possible):
    """Two hosts of two ranks each."""
    with Cluster(2, 2) as cluster:
        yield cluster
