/* Debug information from the servers that the user has named in DEBUGINFOD_URLS; without that nothing goes to the
 * network. libdebuginfod is loaded when it is needed first, and may be missing. */
#ifndef PP_PROFILE_DEBUGINFOD_H
#define PP_PROFILE_DEBUGINFOD_H

struct pp_debuginfod;

/* NULL when there are no servers, or no library. pp_debuginfod_end ends it. */
struct pp_debuginfod *pp_debuginfod_begin(void);
void pp_debuginfod_end(struct pp_debuginfod *client);

/* The path of the file with the debug information of a build-id (hexadecimal), from the library's cache or the servers;
 * shows the progress for `name` on a terminal. NULL when nobody has it, or when all fetches of this client together
 * have taken too long, which is said once. The caller frees. */
char *pp_debuginfod_fetch(struct pp_debuginfod *client, const char *build_id, const char *name);

#endif
