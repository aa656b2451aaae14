/* Messages between ranks 0 and 1 in C.
 *
 * pingpong: COMMS1 of PARKBENCH, half the round trip of one message. Each rank sends from one
 * buffer and receives into another, each at the start of a page, as the OSU benchmarks do.
 * stream: one message of a window of up to 64 that rank 0 sends and rank 1 answers.
 *
 * Arguments: file, time for each size [s], fewest and most repetitions, sizes [B] ...
 * Writes the lines that parcast.benchmarking.records reads. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PAGE 4096
#define WARM 3
#define SHORTEST 50e-6 /* of a repetition [s] */
#define MOST_INNER 1000
#define OVERRUN 2.0 /* times its budget, after which a size is left with what it has */
#define LONG 0.3 /* of a window, from which longer messages bring no higher rate [s] */
#define WINDOW 64
#define FEWEST_UNDER_WAY 4
#define MOST_UNDER_WAY (1 << 25) /* bytes of a window [B] */

static char *out, *into;
static int rank, fewest, most;
static double budget, *times;
static int *mine, *disturbed;
static FILE *file;

static int window_of(int bytes) {
    int fits = MOST_UNDER_WAY / (bytes > 0 ? bytes : 1);
    return fits > WINDOW ? WINDOW : fits < FEWEST_UNDER_WAY ? FEWEST_UNDER_WAY : fits;
}

static void pingpong(int bytes) {
    if (rank == 0) {
        MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(into, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(into, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void stream(int bytes) {
    MPI_Request requests[WINDOW];
    int window = window_of(bytes);
    for (int i = 0; i < window; i++)
        if (rank == 0) MPI_Isend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, requests + i);
        else if (rank == 1) MPI_Irecv(into, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, requests + i);
    if (rank < 2) MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) MPI_Recv(into, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static double turns(void (*once)(int), int n, int bytes) {
    MPI_Barrier(MPI_COMM_WORLD);
    once(bytes); /* after it the ranks are in step, which a barrier leaves a microsecond apart */
    double began = MPI_Wtime();
    for (int i = 0; i < n; i++) once(bytes);
    return (MPI_Wtime() - began) / n;
}

/* How often the system has taken the core from this process for another one. */
static int taken(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int)usage.ru_nivcsw;
}

static double clamped(double x, double least, double greatest) {
    return x < least ? least : x > greatest ? greatest : x;
}

/* Repetitions of something of which one turn is `parts` messages; gives the time of a turn. */
static double measure(const char *bench, void (*once)(int), int bytes, int parts) {
    turns(once, WARM, bytes);
    double turn = turns(once, WARM, bytes);
    MPI_Bcast(&turn, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    int inner = (int)clamped(SHORTEST / turn, 1, MOST_INNER);
    int repetitions = (int)clamped(budget / (turn * inner), fewest, most);
    double started = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) {
        if (i && i % fewest == 0) { /* other programs may make it slower than it was at first */
            int is_over = MPI_Wtime() - started > OVERRUN * budget;
            MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (is_over) {
                repetitions = i;
                break;
            }
        }
        int before = taken();
        times[i] = turns(once, inner, bytes) / parts;
        mine[i] = taken() - before;
    }
    MPI_Reduce(mine, disturbed, repetitions, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0) return turn;
    fprintf(file, "{\"bench\": \"%s\", \"ranks\": 2, \"bytes\": %d, \"times\": [", bench, bytes);
    for (int i = 0; i < repetitions; i++) fprintf(file, "%s%.6e", i ? ", " : "", times[i]);
    fprintf(file, "], \"disturbed\": [");
    for (int i = 0; i < repetitions; i++) fprintf(file, "%s%d", i ? ", " : "", disturbed[i]);
    fprintf(file, "]}\n");
    fflush(file);
    return turn;
}

static void tell_library(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    fprintf(file, "{\"fact\": \"compiled_library\", \"value\": \"");
    for (char *c = version; *c; c++) {
        if (*c == '\n') fprintf(file, "\\n");
        else if (*c == '\t') fprintf(file, "\\t");
        else if (*c == '"' || *c == '\\') fprintf(file, "\\%c", *c);
        else if ((unsigned char)*c >= ' ') fputc(*c, file);
    }
    fprintf(file, "\"}\n");
}

int main(int argc, char **argv) {
    const char *crowded = getenv("MPIR_CVAR_ENABLE_HEAVY_YIELD");
    int given; /* MPICH gives up a core that ranks share only where there may be many threads */
    int wanted = crowded && !strcmp(crowded, "1") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int most_bytes = 1, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 6 || ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
    budget = atof(argv[2]);
    fewest = atoi(argv[3]);
    most = atoi(argv[4]);
    for (int a = 5; a < argc; a++)
        if (atoi(argv[a]) > most_bytes) most_bytes = atoi(argv[a]);
    size_t whole_pages = ((size_t)most_bytes + PAGE - 1) / PAGE * PAGE;
    out = aligned_alloc(PAGE, whole_pages);
    into = aligned_alloc(PAGE, whole_pages);
    times = malloc(most * sizeof(double));
    mine = malloc(most * sizeof(int));
    disturbed = malloc(most * sizeof(int));
    file = rank == 0 ? fopen(argv[1], "a") : NULL;
    if (!out || !into || !times || !mine || !disturbed || (rank == 0 && !file))
        MPI_Abort(MPI_COMM_WORLD, 3);
    memset(out, 1, most_bytes);
    memset(into, 1, most_bytes);
    if (rank == 0) tell_library();
    int goes_on = 1;
    for (int a = 5; a < argc; a++) {
        int bytes = atoi(argv[a]);
        measure("pingpong", pingpong, bytes, 2);
        if (bytes > 0 && goes_on)
            goes_on = measure("stream", stream, bytes, window_of(bytes)) < LONG;
    }
    if (file) fclose(file);
    MPI_Finalize();
    return 0;
}
