/* SPDX-License-Identifier: Apache-2.0 */

/* Local variables that are released at the end of their scope.
 *
 *     scoped(free_ptr) char *buf = malloc(n);
 *     ...
 *     *ret = take(buf);        hands the pointer over; the scope frees nothing
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define scoped(fn) __attribute__((cleanup(fn)))

/* Returns the value of `p` and sets `p` to zero, so that its cleanup does nothing. */
#define take(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = 0;                                                                           \
		taken_;                                                                            \
	})

#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

/* Defines name(T *p), for scoped(name), which calls fn(*p); fn must accept NULL. */
#define define_cleanup(name, type, fn)                                                             \
	__attribute__((unused)) static inline void name(type *p)                                   \
	{                                                                                          \
		fn(*p);                                                                            \
	}

static inline void free_ptr(void *p)
{
	free(*(void **)p);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
