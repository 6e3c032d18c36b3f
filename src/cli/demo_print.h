/* SPDX-License-Identifier: Apache-2.0 */
/* demo_print.h: lines of a story of `tributary demo`, in colours on a terminal. */
#ifndef TRIB_CLI_DEMO_PRINT_H
#define TRIB_CLI_DEMO_PRINT_H

#include "demo/demo.h"

void demo_print_head(void);
void demo_print_step(const struct demo_step *step);
/* In the note's colour. */
void demo_print_note(const char *text);

#endif
