/*
 * The Python stack as a plain reader sees it: every pointer followed, nothing checked, faults caught. Its own table of
 * offsets, so that it shares no mistake with the library. What it reads wrongly is a torn state.
 */
#ifndef TORTURE_PLAIN_H
#define TORTURE_PLAIN_H

#include "truth.h"

/* The minor version that runs here; where its code objects' type is. False for one that is not known. */
bool plain_start(unsigned minor, bool free_threaded, uintptr_t code_type);

/* Fills frames, root first, lines unknown; their number. -1: a fault, a loop or something that is no frame. */
int plain_walk(uintptr_t thread_state, struct truth_frame *frames, unsigned max);

#endif
