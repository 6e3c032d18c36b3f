/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: a claim's numbers as text. Each function returns its last argument, of REPRODUCE_TEXT_MAX bytes, or a
 * constant. Read next: reproduce.h. */
#ifndef TRIB_REPRODUCE_TEXTS_H
#define TRIB_REPRODUCE_TEXTS_H

#include "reproduce/reproduce.h"

#define REPRODUCE_TEXT_MAX 64U

const char *reproduce_text_paper(const struct reproduce_claim *claim, char *text);
/* One or two digits more than the paper's number, to show the distance. */
const char *reproduce_text_ours(const struct reproduce_claim *claim, double ours, char *text);
/* Condition for reproduction, in addition to the number: "the same", "at least that". */
const char *reproduce_text_rule(const struct reproduce_claim *claim);
const char *reproduce_text_verdict(const struct reproduce_claim *claim, double ours);

#endif
