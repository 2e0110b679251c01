"""Benchmarks: what `mpicoll bench` measures, on the ranks of a running job."""
