#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/check_language.py: numbers of a small tree by hand, and a rise that is refused."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import check_language

HEADER = """/* One two three four five. Who sends it, waits. */
#include <stdint.h>
const char *url = "http://who.example"; // seven eight nine
int what; /* ten */
"""
SOURCE = """/* Adds. */
void f(void) { explain("rank %u: who sent %" PRIu64 " bytes that are lost\\n", "who", "no"); }
"""
README = """# Title of this page

Five words are in here. Rows of tables and blocks of code are not counted:

| who | what |

```
who what it
```

Name `who` here.
"""


class Language(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for path, text in (("include/a.h", HEADER), ("src/core/b.c", SOURCE), ("README.md", README)):
            self.write(path, text)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_counts_comments_and_no_code(self):
        # 13 words: one "who", one "it".
        self.assertEqual(check_language.measure(self.root)["include"], (77.0, 0.0, 77.0, 0, None))

    def test_counts_texts_of_three_words(self):
        # rank who sent bytes that are lost: 7 words; the other two literals are names.
        self.assertEqual(check_language.measure(self.root)["texts"], (142.9, 0.0, 142.9, None, None))
        self.assertEqual(check_language.measure(self.root)["src/core"], (0.0, 0.0, 0.0, 0, None))

    def test_counts_prose_of_documents(self):
        # 4 + 5 + 10 + 3 words, one "this"; the longest of four sentences has ten.
        self.assertEqual(check_language.measure(self.root)["README.md"], (0.0, 0.0, 45.5, 0, 10))

    def test_refuses_a_rise(self):
        ceilings = check_language.measure(self.root)
        self.assertEqual(check_language.compare(ceilings, ceilings), ([], []))
        self.write("include/a.h", HEADER + "/* Who is told what it is? */\n/* " + 120 * "-" + " */\n")
        self.write("README.md", README + "\n" + 12 * "word " + ".\n")
        above, below = check_language.compare(check_language.measure(self.root), ceilings)
        self.assertEqual([line.split(";")[0] for line in above],
                         ["README.md: sentence 12", "include: who 105.3", "include: what 52.7", "include: pronouns 105.3",
                          "include: wide lines 1"])
        self.assertEqual(below, ["README.md: pronouns 45.5 could be lowered to 29.5"])

    def test_says_when_a_ceiling_could_be_lowered(self):
        ceilings = check_language.measure(self.root)
        self.write("include/a.h", "/* The sender waits. */\n")
        above, below = check_language.compare(check_language.measure(self.root), ceilings)
        self.assertEqual(above, [])
        self.assertEqual(below, ["include: who 77.0 could be lowered to 0.0", "include: pronouns 77.0 could be lowered to 0.0"])

    def test_a_new_folder_needs_ceilings(self):
        ceilings = check_language.measure(self.root)
        self.write("src/new/c.c", "/* Here. */\n")
        above, _ = check_language.compare(check_language.measure(self.root), ceilings)
        self.assertEqual(len(above), 1)
        self.assertIn("src/new: no ceilings", above[0])


if __name__ == "__main__":
    unittest.main()
