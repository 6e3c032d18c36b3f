/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: what came out of experiments, for people and for programs. Read next: reproduce.h. */
#ifndef TRIB_REPRODUCE_WRITE_H
#define TRIB_REPRODUCE_WRITE_H

#include <stdio.h>

#include "report/json.h"
#include "reproduce/reproduce.h"

/* For a terminal. */
void reproduce_write_text(FILE *out, const struct reproduce_run *run);
/* One object. */
void reproduce_write_json(struct report_json *json, const struct reproduce_run *run);
/* Every point that is drawn: panel, series, x, y. */
void reproduce_write_csv(FILE *out, const struct reproduce_run *run);
/* A page with its plots, which needs nothing else. */
void reproduce_write_html(FILE *out, const struct reproduce_run *run);
/* docs/REPRODUCTION.md: of `count` runs, in the order of their experiments. Those that are measured and have got
 * nothing were not run: of them it says how to. */
void reproduce_write_markdown(FILE *out, const struct reproduce_run *runs, uint32_t count);

#endif
