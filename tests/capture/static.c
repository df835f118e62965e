/* SPDX-License-Identifier: Apache-2.0 */

/* Nothing can be preloaded into it. */
int main(void)
{
	return 5;
}
