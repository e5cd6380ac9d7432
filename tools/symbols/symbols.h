/* Names for native frames that the log has none for, by build-id. */
#ifndef PT_PROFILE_SYMBOLS_H
#define PT_PROFILE_SYMBOLS_H

#include "../profile/model.h"

/* Looks up every native frame without a symbol, in the module's file if it still has the build-id of the log, else in
 * separate debug files. What is not found stays unknown, but may get the offset from where its function begins. */
void pt_symbols_resolve(struct pt_profile *profile);

#endif
