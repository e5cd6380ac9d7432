/* A state file is whatever lies in the directory, an answer whatever a server sends. */
#include "tools/push/answer.h"
#include "tools/push/target.h"
#include "tools/sent/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_state(const char *text)
{
    struct pt_push_state state = {0}, again = {0};
    struct pt_buffer written = {0};
    if (pt_push_state_parse(&state, text)) {
        pt_push_state_append(&written, &state);
        if (!pt_push_state_parse(&again, written.data))
            abort();
    }
    pt_buffer_free(&written);
    pt_push_state_free(&state);
    pt_push_state_free(&again);
}

static void read_texts(const char *text)
{
    struct pt_push_url url;
    struct pt_pairs pairs = {0};
    if (!pt_push_url_read(&url, text) && strpbrk(url.endpoint, "\"\\\n\r "))
        abort();
    pt_push_url_free(&url);
    pt_pairs_read(&pairs, text);
    pt_pairs_read_headers(&pairs, text);
    pt_pairs_are_headers(&pairs);
    pt_pairs_free(&pairs);
    free(pt_push_program_name(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pt_answer answer;
    char *text = pt_strndup((const char *)data, size);
    if (pt_answer_read(&answer, (const char *)data, size, 1700000000) &&
        (strlen(answer.reason) >= sizeof answer.reason || strpbrk(answer.reason, "\n\r\033")))
        abort();
    read_state(text);
    read_texts(text);
    free(text);
    return 0;
}
