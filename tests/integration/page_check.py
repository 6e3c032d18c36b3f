#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a page, as of `tributary sim --html`: every tag that opens closes, and every number of a plot lies within it.  page_check.py FILE"""
import html.parser
import re
import sys

VOID = {"meta", "br"}


class Page(html.parser.HTMLParser):
    """Keeps the tags that are open, and counts plots and points."""

    def __init__(self):
        super().__init__()
        self.open, self.plots, self.points = [], 0, 0
        self.width = self.height = 0

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.plots += tag == "svg"
        for name, value in attrs:
            if name == "viewbox":
                self.width, self.height = (float(number) for number in value.split()[2:])
            if name == "points":
                self.look(value.split())

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"</{tag}> closes what is not open, {self.getpos()}")

    def look(self, points):
        self.points += len(points)
        for point in points:
            x, y = (float(number) for number in point.split(","))
            if not (0 <= x <= self.width and 0 <= y <= self.height):
                sys.exit(f"a point lies outside: {point}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    if page.open:
        sys.exit(f"<{page.open[-1]}> does not close")
    if re.search(r"\b(nan|inf)\b", text):
        sys.exit("a number that is none")
    if page.plots == 0 or page.points == 0:
        sys.exit("no plot, or none with points")


main()
