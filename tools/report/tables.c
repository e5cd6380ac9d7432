/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

void pt_report_tables(const struct pt_report *report, uint32_t process, uint32_t thread)
{
    if (report->cli->request.by)
        pt_report_values(report, process, thread);
    else
        pt_report_functions(report, process, thread);
}
