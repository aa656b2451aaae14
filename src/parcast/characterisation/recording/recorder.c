/* Records what an MPI program calls, by the profiling interface of MPI (PMPI).

   Loaded before the program (LD_PRELOAD), it takes the place of MPI functions, times each call,
   counts its bytes, and passes it on. What happens between calls is the region "computing". When
   MPI ends, every rank adds a line to the file that PARCAST_RECORD names, as `parcast.region`
   writes them. Programs in Fortran are heard too: what the functions of Fortran call in C is not
   counted twice. A volume is counted as machines count it: the buffer of one partner.

   Messages that do not block belong together from the first that is begun to the call that waits
   for them: this is one pass through the region "exchange". */

#ifndef COUNT

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef PARCAST_VERSION
#define PARCAST_VERSION ""
#endif

#ifdef OPEN_MPI
#define BUILT_FOR "Open MPI"
#else
#define BUILT_FOR "MPICH"
#endif

enum {
    COMPUTING, SEND, RECEIVE, EXCHANGE, BARRIER, BROADCAST, REDUCE, ALLREDUCE, GATHER, SCATTER,
    ALLGATHER, ALLTOALL, WRITE, READ, KNOWN
};
#define MOST_REGIONS 512 /* with those that MPI_Pcontrol names */
#define MOST_DEPTH 64
#define NAME 64
#define BUDGET 0.005 /* of a run, for reading processor time */

typedef struct {
    char name[NAME];
    const char *kind;
    double entries, wall, sampled, processor, squares, calls, volume; /* [ns], [B] */
} Region;

static const struct { const char *name, *kind; } NAMED[KNOWN] = {
    {"computing", "compute"},   {"send", "send"},           {"receive", "receive"},
    {"exchange", "send"},       {"barrier", "barrier"},     {"broadcast", "broadcast"},
    {"reduce", "reduce"},       {"allreduce", "allreduce"}, {"gather", "gather"},
    {"scatter", "scatter"},     {"allgather", "allgather"}, {"alltoall", "alltoall"},
    {"file write", "write"},    {"file read", "read"},
};
static Region regions[MOST_REGIONS];
static int known = KNOWN;
static int inside[MOST_DEPTH], depth_inside; /* regions of MPI_Pcontrol, the innermost last */
static int is_active, depth, rank, size, too_many, other_threads, overlapping;
static pthread_t thread;
static double begun, first, last, entry_cost;      /* [s], [ns], [ns], [ns] */
static double reading_cost, readings;              /* of processor time [ns], [1] */
static double computing_since, processor_since;    /* [ns]; below 0: not read */
static struct {
    double wall, sent, received, bytes_sent, bytes_received;
    double collectives[KNOWN], bytes_collective[KNOWN]; /* by region */
    int collective; /* the region of the last that was begun; COMPUTING for none */
} pending; /* what was begun, and not waited for */
static double searched; /* waiting for messages that nobody received yet [ns] */

static double clock_of(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double wall(void) { return clock_of(CLOCK_MONOTONIC); }

static void add(Region *region, double time, double calls, double volume) {
    region->entries += 1;
    region->wall += time;
    region->squares += time * time;
    region->calls += calls;
    region->volume += volume;
}

static Region *computes(void) { return &regions[depth_inside ? inside[depth_inside - 1] : 0]; }

/* Reading processor time is a call of the system: where calls of MPI are frequent, some passes are
   read, and the others count by their wall time. */
static void begin_computing(void) {
    int is_read = readings * reading_cost <= BUDGET * (last - first);
    readings += 2 * is_read;
    processor_since = is_read ? clock_of(CLOCK_THREAD_CPUTIME_ID) : -1.0;
    computing_since = wall();
}

static void end_computing(double now) {
    Region *region = computes();
    double passed = now - computing_since;
    add(region, passed, 0, 0);
    if (processor_since >= 0) {
        double used = clock_of(CLOCK_THREAD_CPUTIME_ID) - processor_since;
        region->processor += used < passed ? used : passed;
        region->sampled += passed;
    }
}

/* Begin a call that may find nothing: computing goes on until it is known. 0 where the call is not
   recorded: inside another, before MPI or of another thread. */
static double enter_poll(void) {
    if (!is_active) return 0;
    if (!pthread_equal(pthread_self(), thread)) {
        __atomic_add_fetch(&other_threads, 1, __ATOMIC_RELAXED);
        return 0;
    }
    return depth++ ? 0 : wall();
}

static double enter(void) {
    double now = enter_poll();
    if (now > 0) end_computing(now);
    return now;
}

static int is_own(void) { return is_active && pthread_equal(pthread_self(), thread); }

static void leave(double since, int which, double calls, double volume) {
    if (!is_own()) return;
    depth--;
    if (since <= 0) return;
    last = wall();
    if (which == RECEIVE) {
        since -= searched;
        searched = 0;
    }
    add(&regions[which], last - since, calls, volume);
    begin_computing();
}

static void post(double since, double sent, double received, double volume) {
    if (!is_own()) return;
    depth--;
    if (since <= 0) return;
    last = wall();
    pending.wall += last - since;
    pending.sent += sent;
    pending.received += received;
    if (sent > 0) pending.bytes_sent += volume; else pending.bytes_received += volume;
    begin_computing();
}

static void post_collective(double since, int which, double volume) {
    if (since > 0) {
        pending.collective = which;
        pending.collectives[which] += 1;
        pending.bytes_collective[which] += volume;
    }
    post(since, 0, 0, 0);
}

/* What was waited for is an exchange by what was sent, or received where nothing was sent. All of
   the waiting counts for it, or else for the last collective that was begun. */
static void flush(void) {
    double calls = pending.sent > 0 ? pending.sent : pending.received;
    double volume = pending.sent > 0 ? pending.bytes_sent : pending.bytes_received;
    int i;
    if (calls <= 0 && pending.collective == COMPUTING) return;
    for (i = 0; i < KNOWN; i++)
        if (pending.collectives[i] > 0)
            add(&regions[i], calls <= 0 && i == pending.collective ? pending.wall : 0,
                pending.collectives[i], pending.bytes_collective[i]);
    if (calls > 0) add(&regions[EXCHANGE], pending.wall, calls, volume);
    memset(&pending, 0, sizeof pending);
}

static void wait_done(double since, int is_complete) {
    if (!is_own()) return;
    depth--;
    if (since <= 0) return;
    last = wall();
    pending.wall += last - since;
    if (is_complete) flush();
    begin_computing();
}

static void probed(double since) {
    if (!is_own()) return;
    depth--;
    if (since <= 0) return;
    last = wall();
    searched += last - since;
    begin_computing();
}

/* What found nothing is waiting, and no computing. */
static void polled(double since, int is_complete, double *waiting) {
    double took;
    if (since > 0 && is_complete) end_computing(since);
    if (since <= 0 || is_complete) {
        wait_done(since, is_complete);
        return;
    }
    depth--;
    last = wall();
    took = last - since;
    *waiting += took;
    computing_since += took;
    processor_since = -1;
}

static double bytes(double count, MPI_Datatype type) {
    int each = 0;
    if (type == MPI_DATATYPE_NULL) return 0;
    PMPI_Type_size(type, &each);
    return count * each;
}

/* ---- the file ---------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f) fprintf(out, "\\u%04x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

/* Name of what was started: of Python that of its script. */
static void put_program(FILE *out) {
    char line[4096], *word = line, *name, *dot;
    const char *chosen = getenv("PARCAST_PROGRAM");
    size_t length = 0;
    FILE *file = fopen("/proc/self/cmdline", "r");
    if (file) {
        length = fread(line, 1, sizeof line - 2, file);
        fclose(file);
    }
    line[length] = line[length + 1] = 0;
    name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
    if (!strncmp(name, "python", 6)) {
        char *next = word + strlen(word) + 1;
        while (next < line + length && *next == '-') next += strlen(next) + 1;
        if (next < line + length && *next) name = strrchr(next, '/') ? strrchr(next, '/') + 1 : next;
    }
    dot = strrchr(name, '.');
    if (dot && dot != name && !strcmp(dot, ".py")) *dot = 0;
    put_text(out, chosen && *chosen ? chosen : *name ? name : "a program");
}

/* "n=400,steps=20" as the parameters of a profile. */
static void put_parameters(FILE *out) {
    const char *given = getenv("PARCAST_PARAMETERS"), *gap = "";
    char *text = strdup(given ? given : ""), *rest = text, *pair, *value, *end;
    while (text && (pair = strsep(&rest, ","))) {
        double number;
        value = strchr(pair, '=');
        if (!value) continue;
        *value++ = 0;
        number = strtod(value, &end);
        if (end == value || *end) continue;
        fprintf(out, "%s", gap);
        put_text(out, pair);
        fprintf(out, ": %.17g", number);
        gap = ", ";
    }
    free(text);
}

static void put_record(FILE *out) {
    char host[256] = "";
    int i;
    const char *gap = "";
    gethostname(host, sizeof host - 1);
    fprintf(out, "{\"schema\": \"parcast/profile/1\", \"parcast\": \"" PARCAST_VERSION "\", ");
    fprintf(out, "\"program\": ");
    put_program(out);
    fprintf(out, ", \"host\": ");
    put_text(out, host);
    fprintf(out, ", \"rank\": %d, \"p\": %d, \"begun\": %.6f, \"span_s\": %.9f, ", rank, size,
            begun, (last - first) * 1e-9);
    fprintf(out, "\"entry_s\": %.3g, \"other_threads\": %d, \"overlapping\": %d, ",
            entry_cost * 1e-9, other_threads, overlapping);
    fprintf(out, "\"parameters\": {");
    put_parameters(out);
    fprintf(out, "}, \"regions\": [");
    for (i = 0; i < known; i++) {
        Region *x = &regions[i];
        int is_loop = !strcmp(x->kind, "compute");
        double processor = x->sampled > 0 ? x->processor * (x->wall / x->sampled) : x->wall;
        if (x->entries < 1) continue;
        fprintf(out, "%s{\"name\": ", gap);
        put_text(out, x->name);
        fprintf(out, ", \"kind\": \"%s\", \"entries\": %.0f, \"wall_s\": %.9f, ", x->kind, x->entries,
                x->wall * 1e-9);
        fprintf(out, "\"processor_s\": %.9f, \"squares_s2\": %.9g, \"iterations\": 0, ",
                is_loop ? processor * 1e-9 : 0.0, x->squares * 1e-18);
        fprintf(out, "\"calls\": %.0f, \"volume_B\": %.0f, \"counts\": {}}", x->calls, x->volume);
        gap = ", ";
    }
    fprintf(out, "]}\n");
}

/* Add the line of this rank in one piece: ranks share the file. */
static void write_record(void) {
    const char *path = getenv("PARCAST_RECORD");
    char *text = NULL;
    size_t length = 0, done = 0;
    FILE *out;
    locale_t plain, before;
    int file;
    if (!path || !*path) return;
    out = open_memstream(&text, &length);
    if (!out) return;
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* numbers have points */
    before = uselocale(plain);
    put_record(out);
    uselocale(before);
    freelocale(plain);
    fclose(out);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file >= 0) flock(file, LOCK_EX);
    while (file >= 0 && done < length) {
        ssize_t written = write(file, text + done, length - done);
        if (written < 0 && errno != EINTR) break;
        if (written > 0) done += (size_t)written;
    }
    if (done < length)
        fprintf(stderr, "parcast: rank %d could not write its profile to %s: %s.\n", rank, path,
                strerror(errno));
    if (file >= 0) close(file);
    free(text);
}

/* ---- begin and end ----------------------------------------------------------------------- */

/* Note the first MPI library in the program, and that there is another file of one. */
typedef struct { dev_t device; ino_t file; int first, other; } Libraries;
static int look_at_library(struct dl_phdr_info *info, size_t size, void *found) {
    Libraries *seen = found;
    struct stat file;
    const char *name = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!name || (strncmp(name, "/libmpi.so", 10) && strncmp(name, "/libmpich.so", 12))) return 0;
    if (stat(info->dlpi_name, &file)) return 0;
    seen->other |= seen->first && (file.st_dev != seen->device || file.st_ino != seen->file);
    seen->device = file.st_dev;
    seen->file = file.st_ino;
    seen->first = 1;
    return 0;
}

/* End the program where its MPI has other handles than the one this was built with. Which of two
   libraries answers depends on how the program was linked, so there must not be two. */
static void require_same_mpi(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 8192] = ""; /* room for another's */
    const char *own_rank = getenv("OMPI_COMM_WORLD_RANK");
    Libraries seen = {0};
    int length = 0;
    PMPI_Get_library_version(version, &length);
    dl_iterate_phdr(look_at_library, &seen);
    if (!strcmp(BUILT_FOR, "Open MPI") == !!strstr(version, "Open MPI") && !seen.other) return;
    own_rank = own_rank ? own_rank : getenv("PMI_RANK");
    if (!own_rank || !strcmp(own_rank, "0"))
        fprintf(stderr, "parcast: the recorder was built for " BUILT_FOR ", and this program runs on "
                "another MPI. Name the mpicc of that MPI with --mpicc.\n");
    _exit(70);
}

/* The same where each rank is alone, though there are several: the program takes whichever MPI is
   loaded, which is then that of the recorder, and its launcher belongs to the other. */
static void require_same_launcher(void) {
    const char *ranks = getenv("PMI_SIZE"), *own_rank = getenv("PMI_RANK");
    MPI_Comm parent = MPI_COMM_NULL;
    ranks = ranks ? ranks : getenv("OMPI_COMM_WORLD_SIZE");
    own_rank = own_rank ? own_rank : getenv("OMPI_COMM_WORLD_RANK");
    PMPI_Comm_get_parent(&parent);
    if (size > 1 || !ranks || atoi(ranks) < 2 || parent != MPI_COMM_NULL) return;
    if (!own_rank || !strcmp(own_rank, "0"))
        fprintf(stderr, "parcast: the recorder was built for " BUILT_FOR ", and the launcher of this "
                "program belongs to another MPI. Name the mpicc of that MPI with --mpicc.\n");
    _exit(70);
}

static void measure_entry(void) {
    double least = 1e9, begin;
    int trial, i;
    Region kept = regions[COMPUTING], barrier = regions[BARRIER];
    begin = wall();
    for (i = 0; i < 200; i++) clock_of(CLOCK_THREAD_CPUTIME_ID);
    reading_cost = (wall() - begin) / 200;
    readings = 1e300; /* none meanwhile */
    for (trial = 0; trial < 5; trial++) {
        begin = wall();
        for (i = 0; i < 200; i++) leave(enter(), BARRIER, 0, 0);
        if ((wall() - begin) / 200 < least) least = (wall() - begin) / 200;
    }
    entry_cost = least / 2; /* a call is a pass through its own region and through computing */
    regions[COMPUTING] = kept;
    regions[BARRIER] = barrier;
}

static void start(void) {
    const char *path = getenv("PARCAST_RECORD");
    int i;
    if (is_active || !path || !*path) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    require_same_launcher();
    for (i = 0; i < KNOWN; i++) {
        strcpy(regions[i].name, NAMED[i].name);
        regions[i].kind = NAMED[i].kind;
    }
    thread = pthread_self();
    is_active = 1;
    first = last = wall();
    begin_computing();
    measure_entry();
    readings = 0;
    begun = clock_of(CLOCK_REALTIME) * 1e-9;
    first = last = wall();
    begin_computing();
}

static void stop(void) {
    if (!is_own()) return;
    last = wall();
    end_computing(last);
    flush();
    if (pending.wall > 0) add(&regions[EXCHANGE], pending.wall, 0, 0);
    if (searched > 0) add(&regions[RECEIVE], searched, 0, 0);
    is_active = 0;
    if (too_many)
        fprintf(stderr, "parcast: MPI_Pcontrol named more than %d regions; the time of the others "
                "is that of \"computing\". Name fewer.\n", MOST_REGIONS - KNOWN);
    write_record();
}

int MPI_Init(int *argc, char ***argv) {
    int result;
    require_same_mpi();
    result = PMPI_Init(argc, argv);
    start();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int result;
    require_same_mpi();
    result = PMPI_Init_thread(argc, argv, required, provided);
    start();
    return result;
}

int MPI_Finalize(void) {
    stop();
    return PMPI_Finalize();
}

/* Name of a region that a program gives; 0 where it gives none: programs that only switch a profiler
   on by MPI_Pcontrol(1) leave anything there. */
static int is_named(const char *given, char name[NAME]) {
    int i;
    if (access(given, F_OK) && (errno == EFAULT || errno == ENAMETOOLONG)) return 0;
    for (i = 0; given[i] && i < NAME - 8; i++) {
        unsigned char c = (unsigned char)given[i];
        if (c < 0x20 || c == 0x7f) return 0;
        name[i] = c < 0x80 ? given[i] : '?';
    }
    name[i] = 0;
    if (!i || strspn(name, " ") == strlen(name)) return 0;
    for (i = 0; i < KNOWN; i++)
        if (!strcmp(name, NAMED[i].name)) {
            strcat(name, " (work)");
            break;
        }
    return 1;
}

/* MPI_Pcontrol(1, "name") begins a region of computing, MPI_Pcontrol(-1, "name") ends it. */
static void control(int level, const char *given) {
    char name[NAME];
    int i;
    if (!is_own() || depth || !is_named(given, name)) return;
    end_computing(wall());
    if (level == 1 && depth_inside < MOST_DEPTH) {
        for (i = KNOWN; i < known && strcmp(regions[i].name, name); i++) {}
        if (i == known && known < MOST_REGIONS) {
            strcpy(regions[i].name, name);
            regions[i].kind = "compute";
            known++;
        } else if (i == known) {
            too_many = 1;
            i = COMPUTING;
        }
        inside[depth_inside++] = i;
    } else if (level == -1 && depth_inside) {
        i = inside[--depth_inside];
        overlapping += i != COMPUTING && strcmp(regions[i].name, name) != 0;
    }
    begin_computing();
}

int MPI_Pcontrol(const int level, ...) {
    va_list rest;
    va_start(rest, level);
    if (level == 1 || level == -1) control(level, va_arg(rest, const char *));
    va_end(rest);
    return MPI_SUCCESS;
}

/* ---- what C programs call ----------------------------------------------------------------- */

#define RECORDED(which, calls, volume, call) \
    do { \
        double since_ = enter(); \
        int result_ = call; \
        leave(since_, which, calls, since_ > 0 ? (volume) : 0); \
        return result_; \
    } while (0)
#define POSTED(sent, received, volume, call) \
    do { \
        double since_ = enter(); \
        int result_ = call; \
        post(since_, sent, received, since_ > 0 ? (volume) : 0); \
        return result_; \
    } while (0)
#define POLLED(is_complete, call) \
    do { \
        double since_ = enter_poll(); \
        int result_ = call; \
        polled(since_, is_complete, &pending.wall); \
        return result_; \
    } while (0)
#define WAITED(is_complete, call) \
    do { \
        double since_ = enter(); \
        int result_ = call; \
        wait_done(since_, is_complete); \
        return result_; \
    } while (0)

static double received(MPI_Status *status) {
    MPI_Count count = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &count);
    return count == MPI_UNDEFINED ? 0 : (double)count;
}

int MPI_Wait(MPI_Request *r, MPI_Status *s) { WAITED(1, PMPI_Wait(r, s)); }
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) { WAITED(1, PMPI_Waitall(n, r, s)); }
int MPI_Waitany(int n, MPI_Request r[], int *i, MPI_Status *s) { WAITED(1, PMPI_Waitany(n, r, i, s)); }
int MPI_Waitsome(int n, MPI_Request r[], int *o, int i[], MPI_Status s[]) {
    WAITED(1, PMPI_Waitsome(n, r, o, i, s));
}
int MPI_Test(MPI_Request *r, int *flag, MPI_Status *s) { POLLED(*flag, PMPI_Test(r, flag, s)); }
int MPI_Testall(int n, MPI_Request r[], int *flag, MPI_Status s[]) {
    POLLED(*flag, PMPI_Testall(n, r, flag, s));
}
int MPI_Testany(int n, MPI_Request r[], int *i, int *flag, MPI_Status *s) {
    POLLED(*flag, PMPI_Testany(n, r, i, flag, s));
}
int MPI_Testsome(int n, MPI_Request r[], int *o, int i[], MPI_Status s[]) {
    POLLED(*o > 0, PMPI_Testsome(n, r, o, i, s));
}
int MPI_Probe(int from, int tag, MPI_Comm c, MPI_Status *s) {
    double since = enter();
    int result = PMPI_Probe(from, tag, c, s);
    probed(since);
    return result;
}
int MPI_Iprobe(int from, int tag, MPI_Comm c, int *flag, MPI_Status *s) {
    double since = enter_poll();
    int result = PMPI_Iprobe(from, tag, c, flag, s);
    polled(since, 0, &searched);
    return result;
}
int MPI_Mprobe(int from, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s) {
    double since = enter();
    int result = PMPI_Mprobe(from, tag, c, m, s);
    probed(since);
    return result;
}
int MPI_Improbe(int from, int tag, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *s) {
    double since = enter_poll();
    int result = PMPI_Improbe(from, tag, c, flag, m, s);
    polled(since, 0, &searched);
    return result;
}

/* Requests that are started again and again: what each sends is kept from when it was made. */
static struct Kept { MPI_Request request; double volume; int is_send; } *persistent;
static int kept, room;

static void forget(MPI_Request request) {
    int i;
    for (i = 0; i < kept; i++)
        if (persistent[i].request == request) {
            persistent[i] = persistent[--kept];
            return;
        }
}

static void keep(MPI_Request request, double volume, int is_send, int is_real) {
    if (!is_active) return;
    forget(request); /* its handle may have been another's, which was freed */
    if (!is_real) return;
    if (kept == room) {
        struct Kept *more = realloc(persistent, (2 * room + 64) * sizeof *persistent);
        if (!more) return;
        persistent = more;
        room = 2 * room + 64;
    }
    persistent[kept].request = request;
    persistent[kept].volume = volume;
    persistent[kept++].is_send = is_send;
}

int MPI_Request_free(MPI_Request *r) {
    if (is_active) forget(*r);
    return PMPI_Request_free(r);
}

static void count_started(int n, const MPI_Request r[]) {
    int i, k;
    for (i = 0; i < n; i++)
        for (k = 0; k < kept; k++)
            if (persistent[k].request == r[i]) {
                pending.sent += persistent[k].is_send;
                pending.received += !persistent[k].is_send;
                if (persistent[k].is_send) pending.bytes_sent += persistent[k].volume;
                else pending.bytes_received += persistent[k].volume;
                break;
            }
}

int MPI_Start(MPI_Request *r) {
    double since = enter();
    int result = PMPI_Start(r);
    if (since > 0) count_started(1, r);
    post(since, 0, 0, 0);
    return result;
}

int MPI_Startall(int n, MPI_Request r[]) {
    double since = enter();
    int result = PMPI_Startall(n, r);
    if (since > 0) count_started(n, r);
    post(since, 0, 0, 0);
    return result;
}

/* Collectives; those that do not block last until they are waited for. */
#define EXPAND(...) __VA_ARGS__
static double given(const void *b, double n, MPI_Datatype t, double rn, MPI_Datatype rt) {
    return b == MPI_IN_PLACE ? bytes(rn, rt) : bytes(n, t);
}

int MPI_Barrier(MPI_Comm c) { RECORDED(BARRIER, 1, 0, PMPI_Barrier(c)); }
int MPI_Ibarrier(MPI_Comm c, MPI_Request *r) {
    double since = enter();
    int result = PMPI_Ibarrier(c, r);
    post_collective(since, BARRIER, 0);
    return result;
}
static int of_files = WRITE; /* what was done last */
int MPI_File_sync(MPI_File f) { RECORDED(of_files, 0, 0, PMPI_File_sync(f)); }
int MPI_File_close(MPI_File *f) { RECORDED(of_files, 0, 0, PMPI_File_close(f)); }


/* All functions with counts, and from MPI 4 on those whose counts are large. */
#define COUNT int
#define PLACE int
#define MPI_NAME(name) MPI_##name
#define PMPI_NAME(name) PMPI_##name
#define LOCAL(name) name
#include "recorder.c"
#undef COUNT
#undef PLACE
#undef MPI_NAME
#undef PMPI_NAME
#undef LOCAL
#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define MPI_NAME(name) MPI_##name##_c
#define PMPI_NAME(name) PMPI_##name##_c
#define LOCAL(name) name##_c
#include "recorder.c"
#endif
#undef COUNT
/* ---- what Fortran programs call ------------------------------------------------------------ */

/* The function of the MPI library is called with what the program gave, as its constants are known
   there alone; what that calls in C is inside this call. */
typedef MPI_Fint I;
#define T(t) MPI_Type_f2c(*(t))
#define C(c) MPI_Comm_f2c(*(c))

static void *next_of(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "parcast: there is no %s in this MPI. Run without the recorder.\n", name);
        _exit(70);
    }
    return found;
}

#define FORTRAN(name, parameters, arguments, after) \
    void name parameters { \
        static void (*next_) parameters; \
        double since; \
        if (!next_) *(void **)&next_ = next_of(#name); \
        since = enter(); \
        next_ arguments; \
        after; \
    }
#define POLLS(name, parameters, arguments, is_complete, waiting) \
    void name parameters { \
        static void (*next_) parameters; \
        double since; \
        if (!next_) *(void **)&next_ = next_of(#name); \
        since = enter_poll(); \
        next_ arguments; \
        polled(since, is_complete, waiting); \
    }
#define CALLS(name, which, volume, parameters, arguments) \
    FORTRAN(name, parameters, arguments, leave(since, which, 1, since > 0 ? (volume) : 0))

void mpi_init_(I *e) {
    require_same_mpi();
    ((void (*)(I *))next_of("mpi_init_"))(e);
    start();
}

void mpi_init_thread_(I *required, I *provided, I *e) {
    require_same_mpi();
    ((void (*)(I *, I *, I *))next_of("mpi_init_thread_"))(required, provided, e);
    start();
}

void mpi_finalize_(I *e) {
    stop();
    ((void (*)(I *))next_of("mpi_finalize_"))(e);
}

/* Where ranks use one buffer for both, counts and types of the other are not looked at. */
static int is_in_place(const void *buffer) {
    static void *open_mpi, **mpich;
    static int is_known;
    if (!is_known) {
        open_mpi = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
        mpich = (void **)dlsym(RTLD_DEFAULT, "MPIR_F_MPI_IN_PLACE");
        is_known = 1;
    }
    return buffer && (buffer == open_mpi || (mpich && buffer == *mpich));
}

static double one_of(const void *buffer, I n, I t, I rn, I rt) {
    return is_in_place(buffer) ? bytes(rn, MPI_Type_f2c(rt)) : bytes(n, MPI_Type_f2c(t));
}

static int is_null(const I *partner) { return *partner == MPI_PROC_NULL; }

#define SENDS(name) \
    FORTRAN(name, (void *b, I *n, I *t, I *to, I *tag, I *c, I *e), (b, n, t, to, tag, c, e), \
            leave(since, SEND, !is_null(to), since > 0 && !is_null(to) ? bytes(*n, T(t)) : 0))
SENDS(mpi_send_) SENDS(mpi_ssend_) SENDS(mpi_bsend_) SENDS(mpi_rsend_)
#define POSTS(name) \
    FORTRAN(name, (void *b, I *n, I *t, I *to, I *tag, I *c, I *r, I *e), \
            (b, n, t, to, tag, c, r, e), \
            post(since, !is_null(to), 0, since > 0 && !is_null(to) ? bytes(*n, T(t)) : 0))
POSTS(mpi_isend_) POSTS(mpi_issend_) POSTS(mpi_ibsend_) POSTS(mpi_irsend_)
void mpi_recv_(void *b, I *n, I *t, I *from, I *tag, I *c, I *s, I *e) {
    static void (*next_)(void *, I *, I *, I *, I *, I *, I *, I *);
    I own[64], *status = s == MPI_F_STATUS_IGNORE ? own : s; /* longer than that of any MPI */
    MPI_Status told;
    double since;
    if (!next_) *(void **)&next_ = next_of("mpi_recv_");
    since = enter();
    next_(b, n, t, from, tag, c, status, e);
    if (since > 0) MPI_Status_f2c(status, &told);
    leave(since, RECEIVE, !is_null(from), since > 0 && !is_null(from) ? received(&told) : 0);
}
FORTRAN(mpi_irecv_, (void *b, I *n, I *t, I *from, I *tag, I *c, I *r, I *e),
        (b, n, t, from, tag, c, r, e),
        post(since, 0, !is_null(from), since > 0 && !is_null(from) ? bytes(*n, T(t)) : 0))
FORTRAN(mpi_sendrecv_,
        (void *b, I *n, I *t, I *to, I *tag, void *rb, I *rn, I *rt, I *from, I *rtag, I *c, I *s,
         I *e),
        (b, n, t, to, tag, rb, rn, rt, from, rtag, c, s, e),
        leave(since, EXCHANGE, !is_null(to), since > 0 && !is_null(to) ? bytes(*n, T(t)) : 0))
FORTRAN(mpi_sendrecv_replace_,
        (void *b, I *n, I *t, I *to, I *tag, I *from, I *rtag, I *c, I *s, I *e),
        (b, n, t, to, tag, from, rtag, c, s, e),
        leave(since, EXCHANGE, !is_null(to), since > 0 && !is_null(to) ? bytes(*n, T(t)) : 0))
FORTRAN(mpi_wait_, (I *r, I *s, I *e), (r, s, e), wait_done(since, 1))
FORTRAN(mpi_waitall_, (I *n, I *r, I *s, I *e), (n, r, s, e), wait_done(since, 1))
FORTRAN(mpi_waitany_, (I *n, I *r, I *i, I *s, I *e), (n, r, i, s, e), wait_done(since, 1))
FORTRAN(mpi_waitsome_, (I *n, I *r, I *o, I *i, I *s, I *e), (n, r, o, i, s, e), wait_done(since, 1))
POLLS(mpi_test_, (I *r, I *flag, I *s, I *e), (r, flag, s, e), *flag, &pending.wall)
POLLS(mpi_iprobe_, (I *from, I *tag, I *c, I *flag, I *s, I *e), (from, tag, c, flag, s, e), 0, &searched)
POLLS(mpi_testall_, (I *n, I *r, I *flag, I *s, I *e), (n, r, flag, s, e), *flag, &pending.wall)
FORTRAN(mpi_probe_, (I *from, I *tag, I *c, I *s, I *e), (from, tag, c, s, e), probed(since))
POLLS(mpi_testany_, (I *n, I *r, I *i, I *flag, I *s, I *e), (n, r, i, flag, s, e), *flag,
      &pending.wall)
POLLS(mpi_testsome_, (I *n, I *r, I *o, I *i, I *s, I *e), (n, r, o, i, s, e), *o > 0,
      &pending.wall)

static void started_in_fortran(double since, I n, const I r[]) {
    I i;
    for (i = 0; since > 0 && i < n; i++) {
        MPI_Request request = MPI_Request_f2c(r[i]);
        count_started(1, &request);
    }
    post(since, 0, 0, 0);
}
#define KEEPS(name, is_send) \
    void name(void *b, I *n, I *t, I *other, I *tag, I *c, I *r, I *e) { \
        static void (*next_)(void *, I *, I *, I *, I *, I *, I *, I *); \
        if (!next_) *(void **)&next_ = next_of(#name); \
        depth += is_own(); \
        next_(b, n, t, other, tag, c, r, e); \
        depth -= is_own(); \
        keep(MPI_Request_f2c(*r), is_active ? bytes(*n, T(t)) : 0, is_send, !is_null(other)); \
    }
KEEPS(mpi_send_init_, 1) KEEPS(mpi_ssend_init_, 1) KEEPS(mpi_bsend_init_, 1)
KEEPS(mpi_rsend_init_, 1) KEEPS(mpi_recv_init_, 0)
FORTRAN(mpi_start_, (I *r, I *e), (r, e), started_in_fortran(since, 1, r))
FORTRAN(mpi_startall_, (I *n, I *r, I *e), (n, r, e), started_in_fortran(since, *n, r))

CALLS(mpi_barrier_, BARRIER, 0, (I *c, I *e), (c, e))
CALLS(mpi_bcast_, BROADCAST, bytes(*n, T(t)), (void *b, I *n, I *t, I *root, I *c, I *e),
      (b, n, t, root, c, e))
CALLS(mpi_reduce_, REDUCE, bytes(*n, T(t)),
      (void *b, void *rb, I *n, I *t, I *o, I *root, I *c, I *e), (b, rb, n, t, o, root, c, e))
CALLS(mpi_allreduce_, ALLREDUCE, bytes(*n, T(t)),
      (void *b, void *rb, I *n, I *t, I *o, I *c, I *e), (b, rb, n, t, o, c, e))
CALLS(mpi_scan_, REDUCE, bytes(*n, T(t)), (void *b, void *rb, I *n, I *t, I *o, I *c, I *e),
      (b, rb, n, t, o, c, e))
CALLS(mpi_exscan_, REDUCE, bytes(*n, T(t)), (void *b, void *rb, I *n, I *t, I *o, I *c, I *e),
      (b, rb, n, t, o, c, e))
CALLS(mpi_reduce_scatter_block_, REDUCE, bytes(*n, T(t)),
      (void *b, void *rb, I *n, I *t, I *o, I *c, I *e), (b, rb, n, t, o, c, e))
CALLS(mpi_reduce_scatter_, REDUCE, bytes(mean_of(n, C(c)), T(t)),
      (void *b, void *rb, I *n, I *t, I *o, I *c, I *e), (b, rb, n, t, o, c, e))
#define BEGINS(name, which, volume, parameters, arguments) \
    FORTRAN(name, parameters, arguments, post_collective(since, which, since > 0 ? (volume) : 0))
BEGINS(mpi_ibarrier_, BARRIER, 0, (I *c, I *r, I *e), (c, r, e))
BEGINS(mpi_ibcast_, BROADCAST, bytes(*n, T(t)), (void *b, I *n, I *t, I *root, I *c, I *r, I *e),
       (b, n, t, root, c, r, e))
BEGINS(mpi_ireduce_, REDUCE, bytes(*n, T(t)),
       (void *b, void *rb, I *n, I *t, I *o, I *root, I *c, I *r, I *e),
       (b, rb, n, t, o, root, c, r, e))
BEGINS(mpi_iallreduce_, ALLREDUCE, bytes(*n, T(t)),
       (void *b, void *rb, I *n, I *t, I *o, I *c, I *r, I *e), (b, rb, n, t, o, c, r, e))
BEGINS(mpi_iallgather_, ALLGATHER, bytes(*rn, T(rt)),
       (void *b, I *n, I *t, void *rb, I *rn, I *rt, I *c, I *r, I *e),
       (b, n, t, rb, rn, rt, c, r, e))
BEGINS(mpi_ialltoall_, ALLTOALL, bytes(*rn, T(rt)),
       (void *b, I *n, I *t, void *rb, I *rn, I *rt, I *c, I *r, I *e),
       (b, n, t, rb, rn, rt, c, r, e))
CALLS(mpi_gather_, GATHER, one_of(b, *n, *t, *rn, *rt),
      (void *b, I *n, I *t, void *rb, I *rn, I *rt, I *root, I *c, I *e),
      (b, n, t, rb, rn, rt, root, c, e))
CALLS(mpi_gatherv_, GATHER, is_in_place(b) ? bytes(mean_of(rn, C(c)), T(rt)) : bytes(*n, T(t)),
      (void *b, I *n, I *t, void *rb, I *rn, I *at, I *rt, I *root, I *c, I *e),
      (b, n, t, rb, rn, at, rt, root, c, e))
CALLS(mpi_scatter_, SCATTER, one_of(rb, *rn, *rt, *n, *t),
      (void *b, I *n, I *t, void *rb, I *rn, I *rt, I *root, I *c, I *e),
      (b, n, t, rb, rn, rt, root, c, e))
CALLS(mpi_scatterv_, SCATTER,
      is_in_place(rb) ? bytes(mean_of(n, C(c)), T(t)) : bytes(*rn, T(rt)),
      (void *b, I *n, I *at, I *t, void *rb, I *rn, I *rt, I *root, I *c, I *e),
      (b, n, at, t, rb, rn, rt, root, c, e))
CALLS(mpi_allgather_, ALLGATHER, bytes(*rn, T(rt)),
      (void *b, I *n, I *t, void *rb, I *rn, I *rt, I *c, I *e), (b, n, t, rb, rn, rt, c, e))
CALLS(mpi_allgatherv_, ALLGATHER, bytes(mean_of(rn, C(c)), T(rt)),
      (void *b, I *n, I *t, void *rb, I *rn, I *at, I *rt, I *c, I *e),
      (b, n, t, rb, rn, at, rt, c, e))
CALLS(mpi_alltoall_, ALLTOALL, bytes(*rn, T(rt)),
      (void *b, I *n, I *t, void *rb, I *rn, I *rt, I *c, I *e), (b, n, t, rb, rn, rt, c, e))
CALLS(mpi_alltoallv_, ALLTOALL, bytes(mean_of(rn, C(c)), T(rt)),
      (void *b, I *n, I *at, I *t, void *rb, I *rn, I *rat, I *rt, I *c, I *e),
      (b, n, at, t, rb, rn, rat, rt, c, e))
#define FILES(name, which) \
    CALLS(name, which, bytes(*n, T(t)), (I *f, void *b, I *n, I *t, I *s, I *e), (f, b, n, t, s, e))
#define FILES_AT(name, which) \
    CALLS(name, which, bytes(*n, T(t)), (I *f, void *at, void *b, I *n, I *t, I *s, I *e), \
          (f, at, b, n, t, s, e))
FILES(mpi_file_write_, WRITE) FILES(mpi_file_write_all_, WRITE) FILES(mpi_file_read_, READ)
FILES(mpi_file_read_all_, READ) FILES_AT(mpi_file_write_at_, WRITE)
FILES_AT(mpi_file_write_at_all_, WRITE) FILES_AT(mpi_file_read_at_, READ)
FILES_AT(mpi_file_read_at_all_, READ)

#else /* of the functions whose counts are COUNT: this file includes itself for them */

static double LOCAL(mean_of)(const COUNT counts[], MPI_Comm comm) {
    int i, ranks = 1, is_inter = 0;
    double sum = 0;
    if (!counts) return 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter) PMPI_Comm_remote_size(comm, &ranks); else PMPI_Comm_size(comm, &ranks);
    for (i = 0; i < ranks; i++) sum += counts[i];
    return sum / ranks;
}

#define SENDER(name) \
    int MPI_NAME(name)(const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c) { \
        RECORDED(SEND, to != MPI_PROC_NULL, to == MPI_PROC_NULL ? 0 : bytes(n, t), \
                 PMPI_NAME(name)(b, n, t, to, tag, c)); \
    }
SENDER(Send) SENDER(Ssend) SENDER(Bsend) SENDER(Rsend)

#define ISENDER(name) \
    int MPI_NAME(name)(const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c, \
                   MPI_Request *r) { \
        POSTED(to != MPI_PROC_NULL, 0, to == MPI_PROC_NULL ? 0 : bytes(n, t), \
               PMPI_NAME(name)(b, n, t, to, tag, c, r)); \
    }
ISENDER(Isend) ISENDER(Issend) ISENDER(Ibsend) ISENDER(Irsend)

int MPI_NAME(Recv)(void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s) {
    MPI_Status own, *status = s == MPI_STATUS_IGNORE ? &own : s;
    RECORDED(RECEIVE, from != MPI_PROC_NULL, received(status), PMPI_NAME(Recv)(b, n, t, from, tag, c, status));
}

int MPI_NAME(Mrecv)(void *b, COUNT n, MPI_Datatype t, MPI_Message *m, MPI_Status *s) {
    MPI_Status own, *status = s == MPI_STATUS_IGNORE ? &own : s;
    RECORDED(RECEIVE, 1, received(status), PMPI_NAME(Mrecv)(b, n, t, m, status));
}

int MPI_NAME(Irecv)(void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r) {
    POSTED(0, from != MPI_PROC_NULL, from == MPI_PROC_NULL ? 0 : bytes(n, t),
           PMPI_NAME(Irecv)(b, n, t, from, tag, c, r));
}

int MPI_NAME(Sendrecv)(const void *b, COUNT n, MPI_Datatype t, int to, int tag, void *rb, COUNT rn,
                 MPI_Datatype rt, int from, int rtag, MPI_Comm c, MPI_Status *s) {
    RECORDED(EXCHANGE, to != MPI_PROC_NULL, to == MPI_PROC_NULL ? 0 : bytes(n, t),
             PMPI_NAME(Sendrecv)(b, n, t, to, tag, rb, rn, rt, from, rtag, c, s));
}

int MPI_NAME(Sendrecv_replace)(void *b, COUNT n, MPI_Datatype t, int to, int tag, int from, int rtag,
                         MPI_Comm c, MPI_Status *s) {
    RECORDED(EXCHANGE, to != MPI_PROC_NULL, to == MPI_PROC_NULL ? 0 : bytes(n, t),
             PMPI_NAME(Sendrecv_replace)(b, n, t, to, tag, from, rtag, c, s));
}

#define INITS(name) \
    int MPI_NAME(name)(const void *b, COUNT n, MPI_Datatype t, int to, int tag, MPI_Comm c, \
                   MPI_Request *r) { \
        int result = PMPI_NAME(name)(b, n, t, to, tag, c, r); \
        keep(*r, bytes(n, t), 1, to != MPI_PROC_NULL); \
        return result; \
    }
INITS(Send_init) INITS(Ssend_init) INITS(Bsend_init) INITS(Rsend_init)

int MPI_NAME(Recv_init)(void *b, COUNT n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r) {
    int result = PMPI_NAME(Recv_init)(b, n, t, from, tag, c, r);
    keep(*r, bytes(n, t), 0, from != MPI_PROC_NULL);
    return result;
}

#define DEFINE(lower, upper, which, volume, parameters, arguments) \
    int MPI_NAME(upper)(EXPAND parameters) { \
        RECORDED(which, 1, volume, PMPI_NAME(upper)(EXPAND arguments)); \
    } \
    int MPI_NAME(I##lower)(EXPAND parameters, MPI_Request *r) { \
        double since_ = enter(); \
        int result_ = PMPI_NAME(I##lower)(EXPAND arguments, r); \
        post_collective(since_, which, since_ > 0 ? (volume) : 0); \
        return result_; \
    }

DEFINE(bcast, Bcast, BROADCAST, bytes(n, t), (void *b, COUNT n, MPI_Datatype t, int root, MPI_Comm c),
       (b, n, t, root, c))
DEFINE(reduce, Reduce, REDUCE, bytes(n, t),
       (const void *b, void *rb, COUNT n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
       (b, rb, n, t, o, root, c))
DEFINE(allreduce, Allreduce, ALLREDUCE, bytes(n, t),
       (const void *b, void *rb, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c))
DEFINE(scan, Scan, REDUCE, bytes(n, t),
       (const void *b, void *rb, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c))
DEFINE(exscan, Exscan, REDUCE, bytes(n, t),
       (const void *b, void *rb, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c))
DEFINE(reduce_scatter_block, Reduce_scatter_block, REDUCE, bytes(n, t),
       (const void *b, void *rb, COUNT n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c))
DEFINE(reduce_scatter, Reduce_scatter, REDUCE, bytes(LOCAL(mean_of)(n, c), t),
       (const void *b, void *rb, const COUNT n[], MPI_Datatype t, MPI_Op o, MPI_Comm c),
       (b, rb, n, t, o, c))

DEFINE(gather, Gather, GATHER, given(b, n, t, rn, rt),
       (const void *b, COUNT n, MPI_Datatype t, void *rb, COUNT rn, MPI_Datatype rt, int root, MPI_Comm c),
       (b, n, t, rb, rn, rt, root, c))
DEFINE(gatherv, Gatherv, GATHER, b == MPI_IN_PLACE ? bytes(LOCAL(mean_of)(rn, c), rt) : bytes(n, t),
       (const void *b, COUNT n, MPI_Datatype t, void *rb, const COUNT rn[], const PLACE at[],
        MPI_Datatype rt, int root, MPI_Comm c),
       (b, n, t, rb, rn, at, rt, root, c))
DEFINE(scatter, Scatter, SCATTER, given(rb, rn, rt, n, t),
       (const void *b, COUNT n, MPI_Datatype t, void *rb, COUNT rn, MPI_Datatype rt, int root, MPI_Comm c),
       (b, n, t, rb, rn, rt, root, c))
DEFINE(scatterv, Scatterv, SCATTER, rb == MPI_IN_PLACE ? bytes(LOCAL(mean_of)(n, c), t) : bytes(rn, rt),
       (const void *b, const COUNT n[], const PLACE at[], MPI_Datatype t, void *rb, COUNT rn,
        MPI_Datatype rt, int root, MPI_Comm c),
       (b, n, at, t, rb, rn, rt, root, c))
DEFINE(allgather, Allgather, ALLGATHER, given(b, n, t, rn, rt),
       (const void *b, COUNT n, MPI_Datatype t, void *rb, COUNT rn, MPI_Datatype rt, MPI_Comm c),
       (b, n, t, rb, rn, rt, c))
DEFINE(allgatherv, Allgatherv, ALLGATHER, b == MPI_IN_PLACE ? bytes(LOCAL(mean_of)(rn, c), rt) : bytes(n, t),
       (const void *b, COUNT n, MPI_Datatype t, void *rb, const COUNT rn[], const PLACE at[],
        MPI_Datatype rt, MPI_Comm c),
       (b, n, t, rb, rn, at, rt, c))
DEFINE(alltoall, Alltoall, ALLTOALL, given(b, n, t, rn, rt),
       (const void *b, COUNT n, MPI_Datatype t, void *rb, COUNT rn, MPI_Datatype rt, MPI_Comm c),
       (b, n, t, rb, rn, rt, c))
DEFINE(alltoallv, Alltoallv, ALLTOALL,
       b == MPI_IN_PLACE ? bytes(LOCAL(mean_of)(rn, c), rt) : bytes(LOCAL(mean_of)(n, c), t),
       (const void *b, const COUNT n[], const PLACE at[], MPI_Datatype t, void *rb, const COUNT rn[],
        const PLACE rat[], MPI_Datatype rt, MPI_Comm c),
       (b, n, at, t, rb, rn, rat, rt, c))

/* Files */
#define OF_FILE(name, which, buffer) \
    int MPI_NAME(File_##name)(MPI_File f, buffer b, COUNT n, MPI_Datatype t, MPI_Status *s) { \
        of_files = which; \
        RECORDED(which, 1, bytes(n, t), PMPI_NAME(File_##name)(f, b, n, t, s)); \
    }
#define AT_PLACE(name, which, buffer) \
    int MPI_NAME(File_##name)(MPI_File f, MPI_Offset at, buffer b, COUNT n, MPI_Datatype t, MPI_Status *s) { \
        of_files = which; \
        RECORDED(which, 1, bytes(n, t), PMPI_NAME(File_##name)(f, at, b, n, t, s)); \
    }
OF_FILE(write, WRITE, const void *) OF_FILE(write_all, WRITE, const void *)
OF_FILE(write_shared, WRITE, const void *) OF_FILE(write_ordered, WRITE, const void *)
AT_PLACE(write_at, WRITE, const void *) AT_PLACE(write_at_all, WRITE, const void *)
OF_FILE(read, READ, void *) OF_FILE(read_all, READ, void *)
OF_FILE(read_shared, READ, void *) OF_FILE(read_ordered, READ, void *)
AT_PLACE(read_at, READ, void *) AT_PLACE(read_at_all, READ, void *)

#undef SENDER
#undef ISENDER
#undef INITS
#undef DEFINE
#undef OF_FILE
#undef AT_PLACE

#endif
