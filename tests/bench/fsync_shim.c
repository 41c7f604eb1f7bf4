/* Counts fsync and fdatasync, for `make bench-peers`, and makes them slower, for `make bench ARGS="--only fsync"`. Loaded
 * with LD_PRELOAD.
 *
 * THREADKEEP_BENCH_FSYNC names a file of two 64-bit numbers that is mapped into every process: how many microseconds to wait
 * after each call, which the benchmark changes while the server runs, and how many calls were made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct control {
    _Atomic uint64_t delay_us;
    _Atomic uint64_t calls;
};

static struct control *control;
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void prepare(void) {
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    const char *path = getenv("THREADKEEP_BENCH_FSYNC");
    if (!path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) control = map;
    close(fd);
}

static int slowed(int result) {
    if (!control) return result;
    atomic_fetch_add(&control->calls, 1);
    uint64_t delay = atomic_load(&control->delay_us);
    if (delay) {
        struct timespec left = {.tv_sec = (time_t)(delay / 1000000), .tv_nsec = (long)(delay % 1000000) * 1000};
        while (nanosleep(&left, &left)) {
        }
    }
    return result;
}

int fsync(int fd) { return slowed(real_fsync(fd)); }
int fdatasync(int fd) { return slowed(real_fdatasync(fd)); }
