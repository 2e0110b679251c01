"""What every rank runs: torch's own tests of a backend, one by one, each in a group of its own.

python suite_ranks.py RESULTS BACKEND [TEST...]    RESULTS/done lists tests that are settled already

The tests ask for a backend by name when they are loaded and skip what it is known not to do. They
are loaded as those of BACKEND, and run on mpicoll.
"""

import json
import os
import sys
import unittest
import warnings
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "compat"))
from ranks import Result, tests_in

RESULTS, LOADED_AS = Path(sys.argv[1]), sys.argv[2]
SECONDS = 60  # for one collective


def load():
    """torch's module of tests, which reads the environment when it is loaded."""
    from mpi4py import MPI

    os.environ.update(BACKEND=LOADED_AS, TEMP_DIR=str(RESULTS / "shared"))
    os.environ["WORLD_SIZE"] = str(MPI.COMM_WORLD.Get_size())
    import torch
    from torch.testing._internal import common_distributed

    torch.set_num_threads(1)
    for feature in ("ddp", "subgroup"):
        common_distributed.DistTestCases.backend_feature[feature] |= {"mpicoll", "mpi"}
    common_distributed.DistTestCases.skip_collective["allgather_coalesced"].discard("mpi")
    from torch.testing._internal.distributed import distributed_test

    distributed_test.BACKEND = "mpicoll"
    # Tests of groups want 8 ranks, or MPI.
    os.environ["BACKEND"] = "mpi"
    return distributed_test


def case_of(module):
    """The tests as one class, run by ranks that exist already."""
    import torch.distributed as dist
    from torch.testing._internal.common_distributed import TEST_SKIPS
    from torch.testing._internal.common_utils import TestCase

    import mpicoll.torch

    dist.monitored_barrier = mpicoll.torch.monitored_barrier  # torch's refuses all but gloo
    skips = {skip.exit_code: skip.message for skip in TEST_SKIPS.values()}

    class Torch(TestCase, module.DistributedTest._DistTestBase):
        init_method = None
        file_name = str(RESULTS / "shared" / "file")

        def setUp(self):
            super().setUp()
            # This one has a way for mpi and gloo and one for nccl, and no other.
            asks = "accumulate_gradients_no_sync" in self._testMethodName
            module.BACKEND = "mpi" if asks else "mpicoll"
            seconds = module.CUSTOM_PG_TIMEOUT.get(self._testMethodName, SECONDS)
            dist.init_process_group("mpicoll", timeout=timedelta(seconds=seconds))
            self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
            dist.barrier()
            if self.rank == 0:
                for path in (RESULTS / "shared" / "barrier").glob("*"):
                    path.unlink()
            module.Barrier.barrier_id = 0
            dist.barrier()

        def tearDown(self):
            if dist.is_initialized():
                dist.destroy_process_group()
            super().tearDown()

        def _callTestMethod(self, method):
            try:
                super()._callTestMethod(method)
            except SystemExit as end:
                raise unittest.SkipTest(skips.get(end.code, f"exit status {end.code}")) from None

    return Torch


def main():
    warnings.simplefilter("ignore")
    case = case_of(load())
    done = set((RESULTS / "done").read_text().split("\n"))
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    wanted = set(sys.argv[3:])
    chosen = unittest.TestSuite(
        test
        for test in tests_in(tests)
        if test._testMethodName not in done and (not wanted or test._testMethodName in wanted)
    )
    from mpi4py import MPI

    with open(RESULTS / f"rank-{MPI.COMM_WORLD.Get_rank()}", "a") as file:
        chosen.run(Named(file))


class Named(Result):
    """Tests are called by the method alone."""

    def write(self, test, *rest):
        print(json.dumps((test.rsplit(".", 1)[-1], *rest)), file=self.file, flush=True)


if __name__ == "__main__":
    main()
