/* SPDX-License-Identifier: Apache-2.0 */
/* Tells functions without a name by the function of their module that leads to them. */
#ifndef PT_SYMBOLS_CALLERS_H
#define PT_SYMBOLS_CALLERS_H

#include "../model/model.h"

/*
 * Sets the `caller` of native frames without a symbol: "deflate", the nearest caller with a name, if between the two
 * are functions of the same module only. Where several lead to the function, it is "deflate, …" with that of most CPU
 * time, if this is half of it or more. All frames of a function get the same, so that it stays one function in all
 * views.
 */
void pt_symbols_name_callers(struct pt_profile *profile);

#endif
