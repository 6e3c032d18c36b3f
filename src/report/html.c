/* SPDX-License-Identifier: Apache-2.0 */
/* html.c: see html.h. */
#include "report/html.h"

void report_html_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '"':
            (void)fputs("&quot;", out);
            break;
        default:
            (void)fputc(*text, out);
        }
    }
}

void report_html_begin(FILE *out, const char *title)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", out);
    report_html_text(out, title);
    (void)fputs(
        "</title>\n<style>\n"
        "body{font:14px/1.45 sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#222;background:#fff}\n"
        "h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em}\n"
        "table{border-collapse:collapse;margin:.6em 0}\n"
        "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\n"
        "th:first-child,td:first-child{text-align:left}\n"
        "svg{margin:.4em .8em .4em 0}.grid{stroke:#ddd}.axis{stroke:#444}\n"
        "svg text{font:11px sans-serif;fill:#333}svg .title{font-weight:bold;font-size:12px}\n"
        "</style>\n</head>\n<body>\n<h1>",
        out);
    report_html_text(out, title);
    (void)fputs("</h1>\n", out);
}

void report_html_end(FILE *out)
{
    (void)fputs("</body>\n</html>\n", out);
}

void report_html_cell(FILE *out, const char *text)
{
    (void)fputs("<td>", out);
    report_html_text(out, text);
    (void)fputs("</td>", out);
}
