/* A clock that can be set while programs run: loaded before the C library (LD_PRELOAD), it adds the
 * seconds in the file CLOCK_FILE to the time of day. The clock that never steps is left alone, and
 * whoever waits till a time of day waits as long as it meant.
 *
 *     cc -shared -fPIC -O2 -o clock.so clock.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void)
{
    char text[32];
    const char *name = getenv("CLOCK_FILE");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length;

    if (file < 0)
        return 0;
    length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return strtol(text, NULL, 10);
}

static int is_of_day(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);

    if (!failed && is_of_day(clock))
        now->tv_sec += ahead();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int failed = (int)syscall(SYS_gettimeofday, now, zone);

    if (!failed)
        now->tv_sec += ahead();
    return failed;
}

time_t time(time_t *now)
{
    struct timespec read_now;

    clock_gettime(CLOCK_REALTIME, &read_now);
    if (now)
        *now = read_now.tv_sec;
    return read_now.tv_sec;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    static int (*wait)(sem_t *, const struct timespec *);
    struct timespec meant = *until;

    if (!wait)
        wait = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    meant.tv_sec -= ahead();
    return wait(semaphore, &meant);
}
