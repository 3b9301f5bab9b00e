/*
 * ISA-L on the block of the bench `peers`, which compiles this file if the library is
 * there, and runs it: isal SYMBOLS PACKETS BYTES RUNS. Each line has the instruction
 * set, what was done, and the seconds of processor time: the fastest tenth and the
 * median. ISA-L's field is GF(2^8) modulo 0x11D; the work is the same as modulo 0x11B.
 */
#include <isa-l/erasure_code.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void encode_fn(int, int, int, unsigned char *, unsigned char **, unsigned char **);

static int symbols, packets, bytes, runs;
static unsigned char *coefficients, *square, *inverse, *tables;
static unsigned char **sources, **coded;

static double processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *allocate(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!memory)
		exit(1);
	return memory;
}

static unsigned char **rows(int count)
{
	unsigned char **row = allocate(count * sizeof(*row));

	/* An odd number of cache lines, as our symbols have. */
	for (int i = 0; i < count; i++)
		row[i] = allocate(((bytes + 63) / 64 | 1) * 64);
	return row;
}

/* The tables are made once, as for a code whose matrix is fixed. */
static void encode_fixed(encode_fn *encode)
{
	encode(bytes, symbols, packets, tables, sources, coded);
}

/* Random coefficients are new in each batch, and so are the tables. */
static void encode_random(encode_fn *encode)
{
	ec_init_tables(symbols, packets, coefficients, tables);
	encode(bytes, symbols, packets, tables, sources, coded);
}

static void decode(encode_fn *encode)
{
	for (int i = 0; i < symbols * symbols; i++)
		square[i] = coefficients[i];
	if (gf_invert_matrix(square, inverse, symbols))
		exit(1);
	ec_init_tables(symbols, symbols, inverse, tables);
	encode(bytes, symbols, symbols, tables, coded, sources);
}

static void measure(const char *set, const char *what, void (*run)(encode_fn *), encode_fn *encode)
{
	double *times = allocate(runs * sizeof(*times));

	for (int i = 0; i < runs; i++) {
		double start = processor_time();

		run(encode);
		times[i] = processor_time() - start;
	}
	qsort(times, runs, sizeof(*times), ascending);
	printf("%s,%s,%.9f,%.9f\n", set, what, times[runs / 10], times[runs / 2]);
	free(times);
}

static void all(const char *set, encode_fn *encode)
{
	measure(set, "fixed", encode_fixed, encode);
	measure(set, "random", encode_random, encode);
	measure(set, "decode", decode, encode);
}

int main(int argc, char **argv)
{
	uint64_t random = 1;

	if (argc != 5)
		return 1;
	symbols = atoi(argv[1]);
	packets = atoi(argv[2]);
	bytes = atoi(argv[3]);
	runs = atoi(argv[4]);
	if (symbols < 1 || packets < symbols || bytes < 64 || runs < 1)
		return 1;
	coefficients = allocate((size_t)packets * symbols);
	square = allocate((size_t)symbols * symbols);
	inverse = allocate((size_t)symbols * symbols);
	tables = allocate((size_t)32 * packets * symbols);
	sources = rows(symbols);
	coded = rows(packets);
	for (int i = 0; i < packets * symbols; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		coefficients[i] = random >> 56;
	}
	for (int i = 0; i < symbols; i++)
		for (int at = 0; at < bytes; at++)
			sources[i][at] = (i * 1000003u + at * 7919u) >> 5;
	ec_init_tables(symbols, packets, coefficients, tables);
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.1"))
		all("sse", ec_encode_data_sse);
	if (__builtin_cpu_supports("avx2"))
		all("avx2", ec_encode_data_avx2);
#endif
	all("its choice", ec_encode_data);
	return 0;
}
