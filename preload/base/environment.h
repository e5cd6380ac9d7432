/* Changes the environment of the programs that this process starts. */
#ifndef PP_BASE_ENVIRONMENT_H
#define PP_BASE_ENVIRONMENT_H

/* Sets a variable, or nothing if there is no memory. Normal context, at start-up; other threads may read the
 * environment, but not change it. */
void pp_environment_set(const char *name, const char *value);

#endif
