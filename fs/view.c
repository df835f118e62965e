/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/view.h"

#include "base/scope.h"
#include "base/text.h"

char *fs_view_join(const struct fs_view *view, size_t *size)
{
	struct text joined = {0};

	for (size_t i = 0; i < view->n; i++)
		text_bytes(&joined, view->parts[i].iov_base, view->parts[i].iov_len);
	*size = joined.len;
	if (joined.error)
		text_done(&joined);
	return joined.data;
}

void fs_view_done(struct fs_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		view->held[i].put(view->cache, view->held[i].item);
	free(view->parts);
	free(view->held);
	*view = (struct fs_view){0};
}
