"""What `mpicoll slurm` prints; no Slurm is needed."""

import subprocess

import pytest

from mpicoll.__main__ import main


def printed(capsys, *words):
    status = main(["slurm", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_script_for_each_library_and_launcher(capsys):
    for library, interface in (("mpich", "pmi2"), ("openmpi", "pmix")):
        words = ("--mpi", library, "--nodes", "3", "--ntasks-per-node", "4")
        status, text, _ = printed(capsys, *words, "--", "mpicoll", "check", "a b")
        assert status == 0
        assert text.endswith(f"srun --mpi={interface} mpicoll check 'a b'\n")
        assert "#SBATCH --nodes=3\n" in text and "#SBATCH --ntasks-per-node=4" in text
        assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
        _, text, _ = printed(capsys, *words, "--launcher", "mpirun", "--", "mpicoll", "check")
        flags = "-launcher slurm -n 12" if library == "mpich" else "-n 12"
        assert text.endswith(f"mpirun {flags} mpicoll check\n")


def test_a_program_ends_all_ranks_when_one_fails(capsys):
    _, text, _ = printed(capsys, "--mpi", "mpich", "--", "train.py", "--steps", "3")
    assert text.endswith("python -m mpi4py train.py --steps 3\n")
    assert "#SBATCH --job-name=train\n" in text


def test_site_options(capsys, tmp_path):
    file = tmp_path / "job.sh"
    words = "--partition short --account ab12 --exclusive --module gcc --module openmpi/5"
    words += f" --time 1:30:00 --mpi openmpi -o {file} -- mpicoll check"
    status, out, err = printed(capsys, *words.split())
    assert (status, out) == (0, "") and f"sbatch {file}" in err
    text = file.read_text()
    for line in ("partition=short\n", "account=ab12\n", "exclusive ", "time=1:30:00 "):
        assert f"#SBATCH --{line}" in text
    assert "module load gcc openmpi/5\n" in text


@pytest.mark.parametrize(
    "words, message",
    [
        (["--nodes", "0"], "--nodes must be at least 1, not 0"),
        (["--time", "soon"], "--time takes minutes, H:MM:SS or D-HH, not 'soon'"),
        (["--account", "a\n#SBATCH --x"], "--account takes a name"),
        (["-o", "/nonexistent/x"], "cannot write /nonexistent/x: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(capsys, words, message):
    status, out, err = printed(capsys, "--mpi", "mpich", *words, "--", "mpicoll", "check")
    assert (status, out) == (2, "")
    assert err.startswith(f"mpicoll: {message}") and err.count("\n") == 1
