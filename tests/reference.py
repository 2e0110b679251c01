"""The lecture's table of the ring allreduce on four ranks: all rows, with operand orders."""

COMPLETE = {
    "S0": "A0+D0+C0+B0",
    "S1": "B1+A1+D1+C1",
    "S2": "C2+B2+A2+D2",
    "S3": "D3+C3+B3+A3",
}

SCATTER_REDUCE = [
    [
        "receives D2, sends A3; chunk 2 = A2+D2",
        "receives A3, sends B0; chunk 3 = B3+A3",
        "receives B0, sends C1; chunk 0 = C0+B0",
        "receives C1, sends D2; chunk 1 = D1+C1",
    ],
    [
        "receives D1+C1, sends A2+D2; chunk 1 = A1+D1+C1",
        "receives A2+D2, sends B3+A3; chunk 2 = B2+A2+D2",
        "receives B3+A3, sends C0+B0; chunk 3 = C3+B3+A3",
        "receives C0+B0, sends D1+C1; chunk 0 = D0+C0+B0",
    ],
    [
        "receives D0+C0+B0, sends A1+D1+C1; chunk 0 = S0",
        "receives A1+D1+C1, sends B2+A2+D2; chunk 1 = S1",
        "receives B2+A2+D2, sends C3+B3+A3; chunk 2 = S2",
        "receives C3+B3+A3, sends D0+C0+B0; chunk 3 = S3",
    ],
]

ALLGATHER = [
    [
        "receives S3, sends S0",
        "receives S0, sends S1",
        "receives S1, sends S2",
        "receives S2, sends S3",
    ],
    [
        "receives S2, sends S3",
        "receives S3, sends S0",
        "receives S0, sends S1",
        "receives S1, sends S2",
    ],
    [
        "receives S1, sends S2",
        "receives S2, sends S3",
        "receives S3, sends S0",
        "receives S0, sends S1",
    ],
]


def spelled(text: str) -> str:
    """A row with the complete chunks S0 to S3 written out."""
    for short, full in COMPLETE.items():
        text = text.replace(short, full)
    return text


#: (round, rank, row)
ROWS = [
    (number, rank, spelled(text))
    for number, ranks in enumerate(SCATTER_REDUCE + ALLGATHER)
    for rank, text in enumerate(ranks)
]
