# SPDX-License-Identifier: MIT
"""Check: a header has at most 400 lines, a source file 600, a function 80.

A function of C or C++ is found by its braces: a block at namespace or class level whose head has a parameter list. It
is measured from the first line of its head to its closing brace, lambdas and local classes inside it included.
"""
import ast
import re

import sources

HEADER_LINES = 400
SOURCE_LINES = 600
FUNCTION_LINES = 80
SCOPE = re.compile(r"(inline\s+)?namespace\b|extern\s*\"|(typedef\s+)?(class|struct|union|enum)\b")
ENDS_AS_FUNCTION = re.compile(r"\)\s*(const|volatile|noexcept|override|final|&|\s)*(->.*)?$")


def _without_preprocessor(text):
    lines = text.split("\n")
    continued = False
    for i, line in enumerate(lines):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.rstrip().endswith("\\")
        if directive:
            lines[i] = ""
    return "\n".join(lines)


def _closing(text, start):
    """The position of the brace that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    return len(text) - 1


def _without_prefix(head):
    """A head without attributes, macros in capitals and `template <...>`, whose defaults may hold anything."""
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)", " ", head, flags=re.DOTALL).strip()
    head = re.sub(r"^([A-Z][A-Z0-9_]+\s+)+", "", head)
    while re.match(r"template\s*<", head):
        depth = 0
        for i, c in enumerate(head):
            depth += (c == "<") - (c == ">" and head[i - 1] != "-")
            if c == ">" and depth == 0:
                break
        head = head[i + 1:].strip()
    return head


def _kind(head):
    """What the brace behind `head` opens: "scope", "function", "member" (a member's initialiser) or "value"."""
    head = _without_prefix(head)
    if SCOPE.match(head) and (head.startswith(("namespace", "inline")) or not ENDS_AS_FUNCTION.search(head)):
        return "scope"
    head = re.sub(r"\boperator\s*(\(\s*\)|[^\s\w(]+)", "operator", head)
    if "(" not in head:
        return "function" if re.search(r"=\s*\[[^]]*\]$", head) else "value"
    if "=" in head.split("(")[0]:
        return "function" if re.search(r"=\s*\[[^]]*\]\s*\(", head) else "value"
    initialisers = re.search(r"\)[^()]*(?<!:):(?!:)", head)
    if initialisers and re.search(r"[\w>]$", head) and not re.search(r"\b(const|noexcept|override|try)$", head):
        return "member"
    return "function"


def functions(text):
    """(first line, line count, head) of every function in a text of C or C++."""
    code = _without_preprocessor(sources.blank(text))
    found = []
    head_start = 0
    parentheses = 0
    i = 0
    while i < len(code):
        c = code[i]
        parentheses += (c == "(") - (c == ")")
        if c == "{":
            if parentheses > 0:  # a braced value inside arguments
                i = _closing(code, i)
            else:
                head = code[head_start:i]
                kind = _kind(head)
                if kind == "function":
                    end = _closing(code, i)
                    first = code.count("\n", 0, head_start + len(head) - len(head.lstrip())) + 1
                    found.append((first, code.count("\n", 0, end) + 2 - first, " ".join(head.split())))
                    i = end
                    head_start = i + 1
                elif kind == "scope":
                    head_start = i + 1
                else:
                    i = _closing(code, i)
        elif parentheses == 0 and (c in ";}" or (c == ":" and re.search(r"\b(public|private|protected)\s*$",
                                                                         code[head_start:i]))):
            head_start = i + 1
        i += 1
    return found


def python_functions(text):
    return [(node.lineno, node.end_lineno - node.lineno + 1, "def " + node.name) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check(root):
    findings = []
    for path in sources.files(root, sources.C_SUFFIXES + (".py",)):
        text = sources.read(root, path)
        limit = HEADER_LINES if path.endswith((".h", ".hpp")) else SOURCE_LINES
        lines = text.count("\n")
        if lines > limit:
            findings.append(f"{path}: {lines} lines, more than {limit}")
        for first, count, head in python_functions(text) if path.endswith(".py") else functions(text):
            if count > FUNCTION_LINES:
                findings.append(f"{path}:{first}: function of {count} lines, more than {FUNCTION_LINES}: {head[:80]}")
    return findings


if __name__ == "__main__":
    sources.finish(check(sources.arguments(__doc__).root))
