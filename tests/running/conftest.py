"""Programs for `mpicoll run`."""

import pytest

HEAD = "import sys\nfrom mpi4py import MPI\nW = MPI.COMM_WORLD\nrank = W.Get_rank()\n"


@pytest.fixture
def program(tmp_path):
    def write(text, name="program.py", head=HEAD):
        path = tmp_path / name
        path.write_text(head + text)
        return str(path)

    return write
