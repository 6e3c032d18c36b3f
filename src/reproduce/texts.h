/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: a claim's numbers as people read them. Each returns its last argument, of REPRODUCE_TEXT_MAX bytes, or a
 * constant.
 * Read next: reproduce.h. */
#ifndef TRIB_REPRODUCE_TEXTS_H
#define TRIB_REPRODUCE_TEXTS_H

#include "reproduce/reproduce.h"

#define REPRODUCE_TEXT_MAX 64U

const char *reproduce_text_paper(const struct reproduce_claim *claim, char *text);
/* With a digit or two more than the paper has, so that it can be seen how near it is. */
const char *reproduce_text_ours(const struct reproduce_claim *claim, double ours, char *text);
/* From when on it is reproduced, beside the number: "the same", "at least that". */
const char *reproduce_text_rule(const struct reproduce_claim *claim);
const char *reproduce_text_verdict(const struct reproduce_claim *claim, double ours);

#endif
