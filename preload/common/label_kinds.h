/* SPDX-License-Identifier: Apache-2.0 */
/* Names the kinds of labels (PP_BLOCK_LABELS) that are not the application's. */
#ifndef PP_COMMON_LABEL_KINDS_H
#define PP_COMMON_LABEL_KINDS_H

#define PP_KEY_TASK     "task"
#define PP_KEY_AWAITER  "awaiter"
#define PP_KEY_GREENLET "greenlet"
#define PP_KEY_ENDPOINT "endpoint"
#define PP_KEY_SPAN     "span"
#define PP_KEY_TEST     "test"

/* The kinds in the order in which their values become PP_VALUE_OTHER: what tends to have the most values is first, what
 * tells most about a sample is last. X(kind, limit): a set in which the values up to a kind are PP_VALUE_OTHER is added
 * while the segment has fewer sets than the limit: at first sets are whole, and each kind has room that those before it
 * leave, whatever the program does. */
#define PP_LABEL_KINDS(X)                                                                                              \
    X(AWAITER, 1200)                                                                                                   \
    X(TASK, 1600)                                                                                                      \
    X(SPAN, 1800)                                                                                                      \
    X(GREENLET, 2000)                                                                                                  \
    X(ENDPOINT, 3000)                                                                                                  \
    X(TEST, 3500)
#define PP_LABEL_SETS_WHOLE 1000 /* before these: no value is replaced */
#define PP_LABEL_SETS_APP   1100 /* then: those of the application's keys */
/* At last: what has no value left still has keys, which the program may make up as well. */
#define PP_LABEL_SETS_APP_KEYS 4000

#define PP_VALUE_OTHER "(other)" /* of many values the later ones; likewise of threads' names and endpoints */

/* The endpoint of a request whose route is not known: it was not found yet, there is none, or its frames have ended. */
#define PP_UNKNOWN_ROUTE "(unknown route)"

#endif
