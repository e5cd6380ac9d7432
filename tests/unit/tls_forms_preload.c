/* The forms as a library has them that each thread gets a block for when it asks; test_python_tls loads it late. */
#include "tls_forms.h"

__attribute__((visibility("default"))) tls_forms_of_library tls_forms;

#ifndef TLS_FORMS_STATIC
/* glibc gives a library with descriptors static TLS when it has room for it */
static __thread char no_room[16384] __attribute__((used));
#endif

static const struct tls_form forms[] = {TLS_FORMS};

const struct tls_form *tls_forms(unsigned *count)
{
    *count = sizeof forms / sizeof *forms;
    return forms;
}
