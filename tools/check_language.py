#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the language of comments, documents and texts, and refuses a rise:  tools/check_language.py [--table]

Counts per 1,000 words: "who" and its forms, "what", and pronouns. Counts lines of more than 120 columns, and for documents the
words of a sentence that nine of ten sentences do not exceed. CEILINGS has the limit of each group of files.
Prints one line per number above its ceiling, and exits 1 if there is any. A number below its ceiling can be lowered:
--table prints the whole table as measured, to be pasted here.
"""
import glob
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = "docs/REPRODUCTION.md"  # the program's lines are as long as its tables
COLUMNS = ("who", "what", "pronouns", "wide lines", "sentence")

# Limits of each group, in the order of COLUMNS. None: not counted.
CEILINGS = {
    "include": (0.3, 0.0, 30.5, 0, None),
    "README.md": (0.0, 0.0, 18.5, 5, 18),
    "docs": (0.4, 0.5, 41.3, 432, 23),
    "src/cli": (0.2, 0.2, 56.5, 0, None),
    "src/comm": (0.8, 0.1, 52.9, 0, None),
    "src/control": (0.0, 0.1, 18.5, 0, None),
    "src/core": (0.5, 1.1, 47.8, 0, None),
    "src/demo": (0.0, 0.0, 22.7, 0, None),
    "src/fabric": (0.0, 0.0, 39.6, 0, None),
    "src/host": (0.0, 0.2, 44.0, 0, None),
    "src/io": (0.0, 0.0, 23.0, 0, None),
    "src/keys": (0.0, 0.0, 42.1, 0, None),
    "src/net": (0.0, 0.0, 29.4, 0, None),
    "src/plan": (0.2, 0.3, 54.7, 0, None),
    "src/protocol": (0.0, 0.0, 46.6, 0, None),
    "src/published": (0.0, 0.0, 31.1, 0, None),
    "src/report": (0.0, 0.0, 17.7, 0, None),
    "src/reproduce": (0.0, 0.0, 24.3, 0, None),
    "src/schemes": (0.0, 0.0, 44.1, 4, None),
    "src/sim": (0.0, 0.0, 42.6, 0, None),
    "src/switchd": (0.0, 0.0, 36.7, 0, None),
    "texts": (0.6, 2.0, 39.6, None, None),
}

WORDS = {
    "who": re.compile(r"\bwho(?:m|se|ever)?\b"),
    "what": re.compile(r"\bwhat\b"),
    "pronouns": re.compile(r"\b(?:its?|the[ym]|their|he|him|his|this|that|these|those)\b"),
}
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def groups(root):
    """{group: its files}: public headers, the README, documents, each folder of src, and src once more for its texts."""
    def found(pattern):
        return sorted(glob.glob(os.path.join(root, pattern), recursive=True))

    sources = found("src/**/*.[ch]")
    chosen = {"include": found("include/**/*.h"), "README.md": found("README.md"), "docs": found("docs/*.md")}
    for path in sources:
        chosen.setdefault("/".join(os.path.relpath(path, root).split(os.sep)[:2]), []).append(path)
    chosen["texts"] = sources
    return {name: files for name, files in chosen.items() if files}


def comments(text):
    """The comments of a C file, each ended like a sentence."""
    found = [token for token in TOKEN.findall(text) if token.startswith("/")]
    return "\n".join(re.sub(r"^\s*(?:\*|//)|^/\*|\*/$", "", token, flags=re.M) + " ." for token in found)


def texts(text):
    """Literals of three words and more: errors, log lines, help. Neighbours are one text; formats are no words."""
    code = TOKEN.sub(lambda token: " " if token.group().startswith("/") else token.group(), text)
    code = re.sub(r"\"\s*(?:PRI\w+\s*)?\"", "", re.sub(r"^[ \t]*#[^\n]*", "", code, flags=re.M))
    literals = [re.sub(r"\\n|%[-+ 0#]*[\d.*]*[hlzjt]*[a-zA-Z]", " ", token) for token in TOKEN.findall(code) if token.startswith('"')]
    return " .\n".join(literal for literal in literals if len(re.findall(r"[A-Za-z]+", literal)) >= 3)


def prose(text):
    """A document without blocks of code, tables, and names in backticks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "X", re.sub(r"^\|.*$", "", text, flags=re.M))


def sentence(text):
    """Words of the sentence that nine of ten are not longer than. A full stop, a colon, a blank line or a list's item ends one."""
    parts = re.split(r"[.!?:](?:\s|\*)|\n\s*\n|\n\s*[-#]", text)
    lengths = sorted(len(part.split()) for part in parts if len(part.split()) > 2)
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def measure(root):
    """{group: its numbers, in the order of COLUMNS}. Numbers per 1,000 words are rounded up."""
    measured = {}
    for name, files in groups(root).items():
        wide, parts, documents = 0, [], files[0].endswith(".md")
        for path in files:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            wide += sum(len(line) > 120 for line in text.splitlines()) if not path.endswith(GENERATED) else 0
            parts.append(prose(text) if documents else texts(text) if name == "texts" else comments(text))
        whole = "\n\n".join(parts)
        words = len(re.findall(r"[A-Za-z][A-Za-z'-]*", whole)) or 1
        rates = [1000 * len(pattern.findall(whole.lower())) / words for pattern in WORDS.values()]
        measured[name] = (*(math.ceil(10 * rate) / 10 for rate in rates), None if name == "texts" else wide,
                          sentence(whole) if documents else None)
    return measured


def compare(measured, ceilings):
    """Two lists of lines: numbers above their ceilings, and numbers below them."""
    above, below = [], []
    for name in sorted(set(measured) | set(ceilings)):
        if name not in measured or name not in ceilings:
            above.append(f"{name}: " + ("no such files" if name in ceilings else f"no ceilings; measured {measured[name]}"))
            continue
        for column, value, ceiling in zip(COLUMNS, measured[name], ceilings[name]):
            if value is not None and value > ceiling:
                above.append(f"{name}: {column} {value}; the ceiling is {ceiling}")
            elif value is not None and value < ceiling:
                below.append(f"{name}: {column} {ceiling} could be lowered to {value}")
    return above, below


def main():
    measured = measure(ROOT)
    if sys.argv[1:] == ["--table"]:
        for name, numbers in measured.items():
            print(f'    "{name}": {numbers},')
        return 0
    above, below = compare(measured, CEILINGS)
    for line in below + above:
        print(line)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
