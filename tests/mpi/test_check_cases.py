"""What `mpicoll check` runs: every value of every dimension for every algorithm."""

import pytest

from mpicoll.check.cases import LARGE, calls_of, forms_of, serves, variants_of
from mpicoll.check.forms import FORMS
from mpicoll.check.methods import METHODS

DTYPES = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)} | {
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
    "int32+index",
    "float32+index",
    "2x2 int32",
}
OPERATIONS = set("SUM PROD MAX MIN LAND LOR LXOR BAND BOR BXOR MINLOC MAXLOC".split()) | {
    "sum mod p",
    "SUM (rounding)",
    "PROD (rounding)",
}


def taken(method, variant, size, full):
    calls = calls_of(method, size, full)
    return [call for call in calls if serves(variant, call, size)]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_every_algorithm_meets_every_value(name, full, size):
    method = METHODS[name]
    for variant in variants_of(method.collective, size, None):
        calls = taken(method, variant, size, full)
        if variant.parameters or not calls:
            continue
        assert {form for call in calls for form in forms_of(call, full)} == set(FORMS)
        twice = [call for call in calls if call.twice]
        assert {form for call in twice for form in forms_of(call, full)} == set(FORMS)
        if name == "Barrier":
            assert {call.delayed for call in calls} == set(range(size))
            continue
        counts = {call.count for call in calls}
        assert counts == {0, 1, size - 1, size, size + 1, 37, LARGE}
        roots = {0, size // 2, size - 1} if not full else set(range(size))
        assert {call.root for call in calls} == roots
        assert {call.in_place for call in calls} == ({False, True} if method.in_place else {False})
        assert {call.layout for call in calls} >= {"plain", "view"} | ({"gaps"} if full else set())
        dtypes = {call.kind.element.name.removesuffix(" with gaps") for call in calls}
        ordered = not (variant.algorithm and variant.algorithm.order == "commutative")
        assert dtypes == (DTYPES if ordered or not method.spec.reduces else DTYPES - {"2x2 int32"})
        if method.spec.reduces:
            operations = OPERATIONS | ({"matrix product"} if ordered else set())
            assert {call.kind.operation.name for call in calls} == operations


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_value_takes_part(name, size):
    method = METHODS[name]
    for variant in variants_of(method.collective, size, None):
        if variant.parameters and name != "Barrier":
            served = taken(method, variant, size, False)
            equal = "equal_blocks" in variant.algorithm.requires
            assert served or (method.unequal and equal)
            assert len({call.count for call in served}) > 1 or not served or size == 1


def test_cases_are_the_same_every_time(size):
    for method in METHODS.values():
        assert calls_of(method, size, False) == calls_of(method, size, False)
