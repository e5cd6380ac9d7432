/* The forms as a library has them that needs static TLS. */
#define TLS_FORMS_STATIC
#include "tls_forms_preload.c"
