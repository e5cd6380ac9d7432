/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

struct pp_config pp_config;
