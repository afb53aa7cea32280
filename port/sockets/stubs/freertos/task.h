/* Stand-in. SPDX-License-Identifier: 0BSD */
#include "FreeRTOS.h"
