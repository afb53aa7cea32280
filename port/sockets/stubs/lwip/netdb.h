/* Stand-in. SPDX-License-Identifier: 0BSD */
#include "sockets.h"
