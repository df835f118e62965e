/* SPDX-License-Identifier: Apache-2.0 */

/* A check that ends the program if it fails. C and C++. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define TRUE(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
