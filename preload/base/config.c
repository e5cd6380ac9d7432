#include "config.h"

struct pp_config pp_config;
