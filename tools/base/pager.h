/* SPDX-License-Identifier: Apache-2.0 */
/* Shows output that is longer than the terminal through a pager, as git does. */
#ifndef PT_BASE_PAGER_H
#define PT_BASE_PAGER_H

/* Sends stdout through $PAGER, else less -FRX, which ends by itself where all fits; does nothing if stdout is no
 * terminal, or no such program is there. Call before the first output, after messages. */
void pt_pager_start(void);

/* Waits until the reader has ended the pager. stdout is closed then. */
void pt_pager_end(void);

#endif
