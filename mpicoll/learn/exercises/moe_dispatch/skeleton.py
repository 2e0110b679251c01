"""Tokens travel to their experts and back.

token 去专家那里，再回来。
"""


def moe_dispatch(comm, tokens, choice, weight, output):
    """Fill output[i] with tokens[i] transformed by the expert on rank choice[i]."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(moe_dispatch)
