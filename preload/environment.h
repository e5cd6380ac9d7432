/* Variables for the programs that this process starts. */
#ifndef PP_ENVIRONMENT_H
#define PP_ENVIRONMENT_H

/* Sets a variable, whatever it was. In normal context, at
 * start-up; other threads may be reading the environment. */
void pp_environment_set(const char *name, const char *value);

#endif
