/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sources of contexts that the program has imported. Flush thread only. */
#ifndef PP_FLUSH_CONTEXT_FACTS_H
#define PP_FLUSH_CONTEXT_FACTS_H

/* Searches sys.modules if it has changed, or was not searched for a while, and publishes what handlers need. */
void pp_context_facts_refresh(void);
/* Has the next refresh search the loaded modules for what they export. */
void pp_context_facts_modules_changed(void);

#endif
