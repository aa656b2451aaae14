/* A program whose calls are known: what the recorder must count, on each rank. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int i, k, rank, ranks, steps = argc > 1 ? atoi(argv[1]) : 10;
    double a[1000] = {0}, b[1000] = {0}, all[64];
    volatile double sum = 0;
    MPI_Request both[2], one, three[3];
    MPI_Status found;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 0; i < steps; i++) {
        MPI_Pcontrol(1, "sweep");
        for (k = 0; k < 200000; k++) sum += k;
        MPI_Pcontrol(-1, "sweep");
        MPI_Pcontrol(1); /* as programs switch a profiler on: no name */
        MPI_Irecv(b, 1000, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, both);
        MPI_Isend(a, 100 * (i % 10 + 1), MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, both + 1);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, a, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Iallreduce(MPI_IN_PLACE, a, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Send_init(a, 10, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD, both);
    MPI_Recv_init(b, 10, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, both + 1);
    for (i = 0; i < 3; i++) {
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(both);
    MPI_Request_free(both + 1);
    MPI_Sendrecv(a, 7, MPI_DOUBLE, MPI_PROC_NULL, 2, b, 7, MPI_DOUBLE, MPI_PROC_NULL, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (ranks > 1 && rank == 0) {
        usleep(200000);
        MPI_Send(a, 50, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
    }
    if (ranks > 1 && rank == 1) {
        MPI_Probe(0, 3, MPI_COMM_WORLD, &found); /* waits as long as the other sleeps */
        MPI_Recv(b, 1000, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Send_init(a, 10, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &one);
    MPI_Start(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Request_free(&one);
    MPI_Ibcast(a, 9, MPI_DOUBLE, 0, MPI_COMM_WORLD, three);
    MPI_Iallreduce(MPI_IN_PLACE, b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, three + 1);
    MPI_Ibarrier(MPI_COMM_WORLD, three + 2);
    MPI_Waitall(3, three, MPI_STATUSES_IGNORE);
    MPI_Pcontrol(1, "reduce"); /* the name of a kind of call */
    MPI_Pcontrol(-1, "reduce");
    MPI_Pcontrol(1, "caf\xe9"); /* no UTF-8 */
    MPI_Pcontrol(-1, "caf\xe9");
    MPI_Pcontrol(1, "\033[2J");
    MPI_Pcontrol(1, "");
    MPI_Allgather(a, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Gather(a, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Alltoall(a, 5, MPI_DOUBLE, all, 5, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Bcast(a, 6, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 8000 * rank, a, 1000, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
