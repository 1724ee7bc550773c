/* Lets the n-th call that writes below a folder fail, or end the process.
 *
 * Loaded by LD_PRELOAD into a process that forks for each run; `fault_arm` is called after the fork.
 * Counted are calls that create, write, synchronize, rename or remove files below the folder. Removing
 * is never refused, because nobody could then clean up; a process may die there, though.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long countdown, counted;
static int failure, lasting, deadly, armed;

/* folder: calls below it count. at: which call fails, from 1; 0 for none. error: its errno. forever:
 * whether all later calls fail, too. number: a signal to raise at the call instead, or 0. */
void fault_arm(const char *place, long at, int error, int forever, int number) {
    snprintf(folder, sizeof folder, "%s", place);
    countdown = at;
    counted = 0;
    failure = error;
    lasting = forever;
    deadly = number;
    armed = 1;
}

long fault_count(void) { return counted; }

static int below(const char *path) {
    size_t length = strlen(folder);
    return armed && path && !strncmp(path, folder, length);
}

static int behind(int descriptor) {
    char link[64], path[PATH_MAX];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Returns whether the present call has to fail. */
static int strike(int removes) {
    long number = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
    if (!countdown || number < countdown) return 0;
    if (deadly) {
        if (number == countdown) raise(deadly);
        return 0;
    }
    if (removes || (number > countdown && !lasting)) return 0;
    errno = failure;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))

#define OPEN(name)                                                       \
    int name(const char *path, int flags, ...) {                         \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = va_arg(rest, mode_t);                              \
        va_end(rest);                                                    \
        if (WRITES(flags) && below(path) && strike(0)) return -1;        \
        return NEXT(name)(path, flags, mode);                            \
    }
#define OPENAT(name)                                                     \
    int name(int place, const char *path, int flags, ...) {              \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = va_arg(rest, mode_t);                              \
        va_end(rest);                                                    \
        if (WRITES(flags) && below(path) && strike(0)) return -1;        \
        return NEXT(name)(place, path, flags, mode);                     \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int descriptor, const void *content, size_t size) {
    if (behind(descriptor) && strike(0)) return -1;
    return NEXT(write)(descriptor, content, size);
}

int fsync(int descriptor) {
    if (behind(descriptor) && strike(0)) return -1;
    return NEXT(fsync)(descriptor);
}

int ftruncate64(int descriptor, off64_t size) {
    if (behind(descriptor) && strike(0)) return -1;
    return NEXT(ftruncate64)(descriptor, size);
}

int posix_fallocate64(int descriptor, off64_t begin, off64_t size) {
    if (behind(descriptor) && strike(0)) return failure;
    return NEXT(posix_fallocate64)(descriptor, begin, size);
}

int rename(const char *old, const char *new) {
    if (below(new) && strike(0)) return -1;
    return NEXT(rename)(old, new);
}

int chmod(const char *path, mode_t mode) {
    if (below(path) && strike(0)) return -1;
    return NEXT(chmod)(path, mode);
}

int mkdir(const char *path, mode_t mode) {
    if (below(path) && strike(0)) return -1;
    return NEXT(mkdir)(path, mode);
}

int unlink(const char *path) {
    if (below(path) && strike(1)) return -1;
    return NEXT(unlink)(path);
}

int rmdir(const char *path) {
    if (below(path) && strike(1)) return -1;
    return NEXT(rmdir)(path);
}
