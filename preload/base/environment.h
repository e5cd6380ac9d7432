/* Variables for the programs that this process starts. */
#ifndef PP_BASE_ENVIRONMENT_H
#define PP_BASE_ENVIRONMENT_H

/* Sets a variable, whatever it was; not at all without memory. Normal context, at start-up; other threads may be
 * reading the environment, and none of them be changing it. */
void pp_environment_set(const char *name, const char *value);

#endif
