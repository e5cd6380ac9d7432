/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

struct pp_flush_thread pp_flush;
void (*pp_flush_find_pythons)(void);
