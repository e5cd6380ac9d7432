/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sources of contexts that the program has imported. Flush thread only. */
#ifndef PP_LABELS_CONTEXT_FACTS_H
#define PP_LABELS_CONTEXT_FACTS_H

#include <stdbool.h>

/* Searches sys.modules if it has changed, or was not searched for a while, and publishes what handlers need. asked: the
 * program or a handler says that there is something to find. */
void pp_context_facts_refresh(bool asked);
/* Has the next refresh search the loaded modules for what they export. */
void pp_context_facts_modules_changed(void);

#endif
