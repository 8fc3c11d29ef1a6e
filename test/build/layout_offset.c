/*
 * Prints where this build believes that job_id stands in Slurm's job record, for layout.sh.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stddef.h>
#include <stdio.h>

#include <src/slurmctld/slurmctld.h>

int main(void)
{
	printf("%zu\n", offsetof(job_record_t, job_id));
	return 0;
}
