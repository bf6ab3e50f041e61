# SPDX-License-Identifier: MIT
"""What all tables of figures share: Markdown, and the words for the processor."""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = file.read().splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    flags = next((set(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")), set())
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    cores = sum(line.startswith("processor") for line in lines)
    return f"{name}, {cores} cores, {' '.join(known) or 'no vector flags'}"
