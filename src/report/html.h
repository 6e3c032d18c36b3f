/* SPDX-License-Identifier: Apache-2.0 */
/* html.h: self-contained pages: one file, no script, no font. Read next: plot.h. */
#ifndef TRIB_REPORT_HTML_H
#define TRIB_REPORT_HTML_H

#include <stdio.h>

/* Writes the text with the special characters of HTML replaced. */
void report_html_text(FILE *out, const char *text);
/* Begins a page, up to and including its first heading. */
void report_html_begin(FILE *out, const char *title);
void report_html_end(FILE *out);
/* Writes a cell of a table. */
void report_html_cell(FILE *out, const char *text);

#endif
