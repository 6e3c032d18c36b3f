/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c: see texts.h. */
#include "reproduce/texts.h"

#include <math.h>
#include <stdio.h>

/* Returns the decimals of the paper's number. */
static int digits_of(const struct reproduce_claim *claim)
{
    double step = claim->step;
    int digits = 0;

    for (; step != 0 && step < 0.999; step *= 10) {
        digits++;
    }
    return digits;
}

static const char *add_unit(const struct reproduce_claim *claim, char *text, int len)
{
    if (claim->unit[0] != '\0') {
        (void)snprintf(text + len, REPRODUCE_TEXT_MAX - (size_t)len, " %s", claim->unit);
    }
    return text;
}

const char *reproduce_text_paper(const struct reproduce_claim *claim, char *text)
{
    int len = claim->relation == REPRODUCE_PRINTED
                  ? snprintf(text, REPRODUCE_TEXT_MAX, "%.*f", digits_of(claim), claim->paper)
                  : snprintf(text, REPRODUCE_TEXT_MAX, "%g", claim->paper);

    return add_unit(claim, text, len);
}

const char *reproduce_text_ours(const struct reproduce_claim *claim, double ours, char *text)
{
    int printed = digits_of(claim);
    int digits = fabs(ours - round(ours)) < 1e-9        ? 0
                 : claim->relation == REPRODUCE_PRINTED ? printed + (printed > 1 ? 2 : 1)
                 : fabs(ours) < 10                      ? 3
                                                        : 1;
    int len = snprintf(text, REPRODUCE_TEXT_MAX, "%.*f", digits, ours);

    return add_unit(claim, text, len);
}

const char *reproduce_text_rule(const struct reproduce_claim *claim)
{
    return claim->relation == REPRODUCE_AT_MOST    ? "at most that"
           : claim->relation == REPRODUCE_AT_LEAST ? "at least that"
                                                   : "the same, rounded or cut";
}

const char *reproduce_text_verdict(const struct reproduce_claim *claim, double ours)
{
    return reproduce_claim_holds(claim, ours) ? "reproduced" : "differs";
}
