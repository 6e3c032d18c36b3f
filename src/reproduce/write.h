/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: results of experiments as text, JSON, CSV, HTML and Markdown. Read next: reproduce.h. */
#ifndef TRIB_REPRODUCE_WRITE_H
#define TRIB_REPRODUCE_WRITE_H

#include <stdio.h>

#include "report/json.h"
#include "reproduce/reproduce.h"

/* Writes text for a terminal. */
void reproduce_write_text(FILE *out, const struct reproduce_run *run);
/* Writes one object. */
void reproduce_write_json(struct report_json *json, const struct reproduce_run *run);
/* Writes every point of the plots: panel, series, x, y. */
void reproduce_write_csv(FILE *out, const struct reproduce_run *run);
/* Writes a self-contained page with plots. */
void reproduce_write_html(FILE *out, const struct reproduce_run *run);
/* Writes docs/REPRODUCTION.md from `count` runs, in the order of their experiments. A measured experiment without
 * values was not run: for this one the text says how to run it. */
void reproduce_write_markdown(FILE *out, const struct reproduce_run *runs, uint32_t count);

#endif
