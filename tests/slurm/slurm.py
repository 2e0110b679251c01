"""Slurm on a cluster of network namespaces: munged, slurmctld, and a slurmd on every host.

    with Slurm(2, 2) as slurm:
        done = slurm.call(["srun", "--mpi=pmi2", "-n4", "python", "program.py"], timeout=60)

Its daemons, sockets, configuration and state live inside the cluster and end with it. From a
shell, `python tests/slurm/slurm.py --hosts 2 --ranks-per-host 2 -- sinfo` runs a command there.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))
import cluster
from cluster import Cluster, ClusterError

__all__ = ["Slurm", "unavailable"]

DAEMONS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "sinfo")
PATIENCE = 60
#: Launchers ask Slurm, not files and scripts of the cluster; nothing is left of a job around us.
REPLACED = ("HYDRA_", "PRTE_MCA_plm_", "PRTE_MCA_prte_default_", "SLURM_")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=h1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/mnt/munge/socket
CredType=cred/munge
StateSaveLocation=/mnt/state
SlurmdSpoolDir=/mnt/spool-%n
TmpFS=/mnt/tmp
SlurmctldPidFile=/mnt/slurmctld.pid
SlurmdPidFile=/mnt/slurmd-%n.pid
SlurmctldLogFile=/mnt/slurmctld.log
SlurmdLogFile=/mnt/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""

START = """\
set -e
mkdir -m 700 /mnt/munge /mnt/state
cat >/mnt/munge/key && chmod 400 /mnt/munge/key
cat >/mnt/slurm.conf <<END
{configuration}
END
munged --force --key-file=/mnt/munge/key --socket=/mnt/munge/socket --pid-file=/mnt/munge/pid \
  --log-file=/mnt/munge/log --seed-file=/mnt/munge/seed
chmod 711 /mnt/munge
slurmctld
"""


@cache
def unavailable() -> str:
    """Why there can be no Slurm here; empty if there can."""
    for name in DAEMONS:
        if shutil.which(name, path=cluster.search_path()) is None:
            return f"needs {name} (on Debian: apt install slurm-wlm munge)"
    if reason := cluster.unavailable():
        return reason
    try:
        with Slurm(1):
            return ""
    except ClusterError as error:
        return str(error)


class Slurm(Cluster):
    """As `Cluster`, with Slurm on its hosts; each has as many CPUs as it takes ranks."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        super().__init__(*arguments, **keywords)
        kept = {k: v for k, v in self.environment.items() if not k.startswith(REPLACED)}
        self.environment = {**kept, "SLURM_CONF": "/mnt/slurm.conf", **ROOT}

    def __enter__(self) -> Slurm:
        super().__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        nodes = [
            f"NodeName={name} NodeAddr={name} CPUs={count} RealMemory=2000 State=UNKNOWN"
            for name, count in zip(self.names, self.slots, strict=True)
        ]
        script = START.format(configuration=CONFIGURATION.format(nodes="\n".join(nodes)))
        self._daemon(["bash", "-c", script], self.names[0], secrets.token_hex(64))
        for name in self.names:
            self._daemon(["slurmd", "-N", name], name)
        deadline = time.monotonic() + PATIENCE
        while self._idle() < len(self.names):
            if time.monotonic() > deadline:
                raise ClusterError("Slurm does not start here: " + self._complaint())
            time.sleep(0.2)
        self._holders = self._inside()

    def _daemon(self, argv: list[str], host: str, text: str = "") -> None:
        log = subprocess.DEVNULL
        process = self.popen(argv, host=host, stdin=subprocess.PIPE, stdout=log, stderr=log)
        process.communicate(text, timeout=PATIENCE)
        if process.returncode:
            raise ClusterError(f"{argv[0]} does not start here: " + self._complaint())

    def _idle(self) -> int:
        argv = ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"]
        return len(self.call(argv, timeout=PATIENCE).stdout.split())

    def _complaint(self) -> str:
        logs = "cat /mnt/munge/log /mnt/*.log | grep -iE 'error|fatal' | tail -1"
        return self.call(["bash", "-c", logs], timeout=PATIENCE).stdout.strip() or "no reason given"


if __name__ == "__main__":
    sys.exit(cluster.main(Slurm))
