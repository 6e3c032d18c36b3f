/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: seconds of a steady clock, as a double, and a wait. */
#ifndef DIGITS_CLOCK_H
#define DIGITS_CLOCK_H

double clock_seconds(void);
void clock_wait(unsigned milliseconds);

#endif
