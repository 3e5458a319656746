/* A disk that forgets: at SIGUSR1, whatever was written to files whose path begins with $UNSYNCED
   and not synced since is taken back, and the process ends with code 9. Loaded by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct undo {
    struct undo* before;
    dev_t device;
    ino_t file;
    int fd;
    off_t at, size;
    ssize_t length;
    char old[];
} undo;

static undo* last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int watched(int fd) {
    const char* wanted = getenv("UNSYNCED");
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path - 1);
    return wanted && n > 0 && (path[n] = 0, !strncmp(path, wanted, strlen(wanted)));
}

/* Remember what stands where something is about to be written. */
static void remember(int fd, off_t at, size_t length) {
    struct stat now;
    if (!watched(fd) || fstat(fd, &now)) return;
    undo* one = malloc(sizeof *one + length);
    *one = (undo){last, now.st_dev, now.st_ino, dup(fd), at, now.st_size, 0};
    one->length = pread(one->fd, one->old, length, at);
    pthread_mutex_lock(&lock);
    one->before = last;
    last = one;
    pthread_mutex_unlock(&lock);
}

/* What was written to this file is safe now. */
static void forget(int fd) {
    struct stat now;
    if (fstat(fd, &now)) return;
    pthread_mutex_lock(&lock);
    for (undo** place = &last; *place;) {
        undo* one = *place;
        if (one->device == now.st_dev && one->file == now.st_ino) {
            *place = one->before;
            close(one->fd);
            free(one);
        } else {
            place = &one->before;
        }
    }
    pthread_mutex_unlock(&lock);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void power_fails(int number) {
    (void)number;
    for (undo* one = last; one; one = one->before) {
        if (one->length > 0 && REAL(pwrite)(one->fd, one->old, one->length, one->at) < 0) _exit(8);
        if (REAL(ftruncate)(one->fd, one->size)) _exit(7);
    }
    _exit(9);
}

__attribute__((constructor)) static void begin(void) { signal(SIGUSR1, power_fails); }

ssize_t pwrite(int fd, const void* data, size_t length, off_t at) {
    remember(fd, at, length);
    return REAL(pwrite)(fd, data, length, at);
}
ssize_t pwrite64(int fd, const void* data, size_t length, off64_t at) {
    remember(fd, at, length);
    return REAL(pwrite64)(fd, data, length, at);
}
ssize_t write(int fd, const void* data, size_t length) {
    if (watched(fd)) remember(fd, lseek(fd, 0, SEEK_CUR), length);
    return REAL(write)(fd, data, length);
}
int ftruncate(int fd, off_t size) {
    struct stat now;
    if (!fstat(fd, &now) && size < now.st_size) remember(fd, size, now.st_size - size);
    else remember(fd, now.st_size, 0);
    return REAL(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }
int fsync(int fd) {
    int failed = REAL(fsync)(fd);
    if (!failed) forget(fd);
    return failed;
}
int fdatasync(int fd) {
    int failed = REAL(fdatasync)(fd);
    if (!failed) forget(fd);
    return failed;
}
