/*
 * What sbatch's options become in the model: one case for each way of asking.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "harness.h"

#include "../../plugin/request.h"

/* A plain job on nodes of 16 single-threaded cores, memory counted. */
static fs_ask_t plain(void)
{
	return (fs_ask_t){
		.gpu_type = -1,
		.cpus_per_task = 1,
		.cpus = 1,
		.cpus_per_node = 1,
		.nodes_min = 1,
		.memory_counts = true,
		.memory = 1000,
		.threads_per_core = 1,
		.node_cpus = 16,
		.node_memory = 64000,
	};
}

static void check_chunks(const fs_request *request, int gpus, long cpus, int chunks, int a_node)
{
	CHECK_INT(request->chunk.gpus, gpus);
	CHECK_INT(request->chunk.cpus, cpus);
	CHECK_INT(request->chunks, chunks);
	CHECK_INT(request->chunks_per_node_max, a_node);
}

static void check_nodes(const fs_request *request, int least, int most)
{
	CHECK_INT(request->nodes_min, least);
	CHECK_INT(request->nodes_max, most);
}

static void test_gres(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.gpus_per_node = 4; /* --gres=gpu:4 */
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 4, 1, 1, 1);
	check_nodes(&request, 1, 1);
	CHECK_INT(request.per_node.memory_mib, 1000);
	CHECK_INT(request.gpu_type, -1);
	ask.nodes_min = ask.nodes_max = 2; /* -N2 --gres=gpu:a100:4 */
	ask.cpus = 2;
	ask.gpu_type = 3;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 4, 1, 2, 1);
	check_nodes(&request, 2, 2);
	CHECK_INT(request.gpu_type, 3);
}

static void test_gres_with_tasks(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.gpus_per_node = 2;
	ask.nodes_min = ask.nodes_max = 2;
	ask.tasks = 8;
	ask.cpus_per_task = 3;
	ask.cpus = 24;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 2, 12, 2, 1);
	ask.cpus_per_gpu = 7; /* the larger of both counts */
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 2, 14, 2, 1);
	/* More CPUs than one node has: Slurm adds nodes, an estimate. */
	ask = plain();
	ask.gpus_per_node = 1;
	ask.tasks = ask.cpus = 40;
	CHECK(!fs_request_from(&ask, &request));
	check_chunks(&request, 1, 14, 3, 1);
}

static void test_gpus(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.gpus_per_job = 12; /* --gpus=12 */
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 1, 0, 12, 0);
	check_nodes(&request, 1, 0);
	CHECK_INT(request.per_node.cpus, 1);
	ask.nodes_min = 2; /* -N2-4 --gpus=12 --cpus-per-gpu=2 --mem-per-gpu=500 */
	ask.nodes_max = 4;
	ask.cpus_per_gpu = 2;
	ask.memory_per_gpu = 500;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 1, 2, 12, 0);
	check_nodes(&request, 2, 4);
	CHECK_INT(request.chunk.memory_mib, 500);
	CHECK_INT(request.per_node.memory_mib, 0);
	ask = plain(); /* -n1 -c16 --gpus=2: one task, one node */
	ask.gpus_per_job = 2;
	ask.tasks = 1;
	ask.cpus_per_task = ask.cpus = 16;
	ask.nodes_max = 1;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 1, 0, 2, 0);
	check_nodes(&request, 1, 1);
	CHECK_INT(request.per_node.cpus, 16);
}

static void test_gpus_per_task(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.gpus_per_task = 2; /* -n4 --gpus-per-task=2 -c3 --mem-per-cpu=1000 */
	ask.gpus_per_job = 8;
	ask.tasks = 4;
	ask.cpus_per_task = 3;
	ask.cpus = 12;
	ask.memory_per_cpu = true;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 2, 3, 4, 0);
	check_nodes(&request, 1, 4);
	CHECK_INT(request.chunk.memory_mib, 3000);
	ask.tasks_per_node = 2;
	ask.nodes_min = ask.nodes_max = 2;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 2, 3, 4, 2);
	check_nodes(&request, 2, 2);
}

static void test_cpus_only(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 0, 1, 1, 1);
	ask.tasks = 20; /* -n20 -c2 */
	ask.cpus_per_task = 2;
	ask.cpus = 40;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 0, 2, 20, 0);
	check_nodes(&request, 1, 20);
	ask.tasks_per_node = 4; /* --ntasks-per-node=4 */
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 0, 8, 5, 1);
	ask = plain(); /* -N3 */
	ask.nodes_min = ask.nodes_max = 3;
	ask.cpus = 3;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 0, 1, 3, 1);
	check_nodes(&request, 3, 3);
	ask.tasks = 30; /* -O: a CPU a node will do */
	ask.overcommit = true;
	CHECK(fs_request_from(&ask, &request));
	check_chunks(&request, 0, 1, 3, 1);
}

static void test_whole_cores(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.threads_per_core = 2;
	ask.gpus_per_node = 1;
	ask.cpus_per_task = ask.cpus = 3;
	CHECK(fs_request_from(&ask, &request));
	CHECK_INT(request.chunk.cpus, 4);
	ask.task_takes_core = true; /* --hint=nomultithread */
	ask.tasks = 3;
	ask.cpus_per_task = 1;
	CHECK(fs_request_from(&ask, &request));
	CHECK_INT(request.chunk.cpus, 6);
}

static void test_whole_nodes(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.whole_nodes = true; /* --exclusive -N2 --mem=0 */
	ask.nodes_min = ask.nodes_max = 2;
	ask.memory = 0;
	CHECK(fs_request_from(&ask, &request));
	CHECK(request.whole_nodes);
	check_nodes(&request, 2, 2);
	CHECK_INT(request.per_node.memory_mib, 64000);
	ask.memory_counts = false;
	CHECK(fs_request_from(&ask, &request));
	CHECK_INT(request.per_node.memory_mib, 0);
	ask = plain(); /* --exclusive -n40: as many nodes as that takes */
	ask.whole_nodes = true;
	ask.tasks = ask.cpus = 40;
	CHECK(fs_request_from(&ask, &request));
	CHECK_INT(request.chunks, 3);
}

static void test_estimates(void)
{
	fs_ask_t ask = plain();
	fs_request request;

	ask.gpus_per_socket = 2; /* sockets are not in the model */
	ask.sockets_per_node = 2;
	CHECK(!fs_request_from(&ask, &request));
	CHECK_INT(request.chunk.gpus, 4);
	ask = plain();
	ask.odd = true;
	ask.gpus_per_node = 1;
	CHECK(!fs_request_from(&ask, &request));
	ask = plain(); /* shared CPUs: none is counted */
	ask.shares_cpus = ask.odd = true;
	ask.gpus_per_node = 1;
	CHECK(!fs_request_from(&ask, &request));
	CHECK_INT(request.chunk.cpus, 0);
	ask = plain(); /* what Slurm will refuse is left to Slurm */
	ask.nodes_min = 4;
	ask.nodes_max = 2;
	CHECK(!fs_request_from(&ask, &request));
	CHECK(request.nodes_max >= request.nodes_min);
}

/* What the core requires of every request, whatever was asked. */
static void check_legal(const fs_request *request)
{
	CHECK(request->chunks >= 1 && request->nodes_min >= 1);
	CHECK(request->chunks_per_node_max >= 0);
	CHECK(request->nodes_max == 0 || request->nodes_max >= request->nodes_min);
	CHECK(request->chunk.gpus >= 0 && request->chunk.cpus >= 0 &&
	      request->chunk.memory_mib >= 0);
	CHECK(request->per_node.gpus == 0 && request->per_node.cpus >= 0 &&
	      request->per_node.memory_mib >= 0);
	CHECK(request->chunk.gpus <= 1000000);
	CHECK((int64_t)request->chunk.gpus * request->chunks <= 1000000000);
}

static uint64_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* A small number most of the time, else one at an edge. */
static uint64_t number(uint64_t *state)
{
	static const uint64_t edges[] = {0, 1, UINT16_MAX, INT32_MAX, UINT32_MAX, INT64_MAX,
					 UINT64_MAX};

	return next(state) % 4 ? next(state) % 40 :
				 edges[next(state) % (sizeof(edges) / sizeof(edges[0]))];
}

static void test_anything(void)
{
	uint64_t state = test_seed();

	for (int i = 0; i < 20000; i++) {
		fs_ask_t ask = {.gpu_type = -1};
		fs_request request;
		uint64_t bits = next(&state);

		uint64_t *numbers[] = {
			&ask.gpus_per_job, &ask.gpus_per_node, &ask.gpus_per_task,
			&ask.gpus_per_socket, &ask.sockets_per_node, &ask.cpus_per_gpu,
			&ask.memory_per_gpu, &ask.tasks_per_gpu, &ask.tasks, &ask.cpus_per_task,
			&ask.tasks_per_node, &ask.cpus, &ask.cpus_per_node, &ask.nodes_min,
			&ask.nodes_max, &ask.memory, &ask.threads_per_core, &ask.node_cpus,
			&ask.node_memory};

		for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
			*numbers[n] = next(&state) % 2 ? number(&state) : 0;
		ask.overcommit = bits & 1;
		ask.shares_cpus = bits & 2;
		ask.whole_nodes = bits & 4;
		ask.task_takes_core = bits & 8;
		ask.memory_counts = bits & 16;
		ask.memory_per_cpu = bits & 32;
		fs_request_from(&ask, &request);
		check_legal(&request);
	}
}

TEST_SUITE("request",
	   {"--gres", test_gres},
	   {"--gres with tasks and CPUs", test_gres_with_tasks},
	   {"--gpus", test_gpus},
	   {"--gpus-per-task", test_gpus_per_task},
	   {"no GPUs", test_cpus_only},
	   {"CPUs are handed out by cores", test_whole_cores},
	   {"whole nodes and all of their memory", test_whole_nodes},
	   {"what chunks cannot say is an estimate", test_estimates},
	   {"whatever is asked becomes a legal request", test_anything})
