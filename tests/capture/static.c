/* SPDX-License-Identifier: Apache-2.0 */

/* A statically linked program, into which nothing can be preloaded. */
int main(void)
{
	return 5;
}
