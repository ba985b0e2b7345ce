"""Shell commands that several scenarios need."""


def heredoc(size):
    """A here-document that writes about `size` bytes of Python source to gen.py, ending in a newline."""
    lines, total, number = [], 0, 0
    while total < size:
        line = f"def step_{number}(value):  # keeps 'quotes', \"doubles\", $dollars and `ticks` as they are"
        body = f"    return value + {number}"
        lines += [line, body]
        total += len(line) + len(body) + 2
        number += 1
    return "cat > gen.py <<'END_OF_FILE'\n" + "\n".join(lines) + "\nEND_OF_FILE\n"
