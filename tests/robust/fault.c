// A library for LD_PRELOAD that makes selected calls of a program fail, from main to the end.
//
//   FAULT_PROGRAM  the name of the affected program; other programs that it starts are not affected
//   FAULT_CALLS    names, comma-separated: alloc (malloc, calloc, realloc, aligned_alloc, posix_memalign, anonymous
//                  mmap) or read, pread, write, fsync, rename, open, close, fstat, mmap (of files), pipe
//   FAULT_AT       the index of the first failing call, from 1; 0: none
//   FAULT_FOR      the number of failing calls from there on; 0: all
//   FAULT_ERROR    errno of a failing call, or 0: half of the requested bytes are read or written
//   FAULT_COUNT    a file of 16 bytes: the number of calls, and of failed calls (both uint64)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum Call { ALLOC, READ, PREAD, WRITE, FSYNC, RENAME, OPEN, CLOSE, FSTAT, MMAP, CALLS };
static const char* const kNames[CALLS] = {"alloc",  "read", "pread", "write", "fsync",
                                          "rename", "open", "close", "fstat", "mmap"};

struct Counts {
  _Atomic uint64_t calls, failures;
};
static struct Counts no_counts;
static struct Counts* counts = &no_counts;
static int watched[CALLS];
static uint64_t first = 0, how_many = 1;
static int error_number = ENOMEM;
static atomic_int on = 0;

static uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

// Counts the call and returns whether it fails.
static int fails(enum Call call) {
  if (!atomic_load(&on) || !watched[call]) return 0;
  const uint64_t which = atomic_fetch_add(&counts->calls, 1) + 1;
  if (first == 0 || which < first || (how_many != 0 && which >= first + how_many)) return 0;
  atomic_fetch_add(&counts->failures, 1);
  errno = error_number;
  return 1;
}

#define REAL(name) ((__typeof__(&name))real(#name, &found_##name))
static void* real(const char* name, void** found) {
  if (*found == NULL) *found = dlsym(RTLD_NEXT, name);
  return *found;
}

// Allocation: glibc's own functions with their other names, because dlsym also allocates.
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

// oneDNN's operator new returns a null pointer, on which it then runs the constructor. These allocations of small
// objects always succeed, because the tested program cannot check them.
static int makes_onednn_object(const void* caller, size_t size) {
  Dl_info where;
  return size < 65536 && dladdr(caller, &where) != 0 && where.dli_fname != NULL &&
         strstr(where.dli_fname, "libdnnl") != NULL;
}
static int allocation_fails(const void* caller, size_t size) {
  if (!fails(ALLOC)) return 0;
  if (!makes_onednn_object(caller, size)) return 1;
  atomic_fetch_sub(&counts->failures, 1);
  return 0;
}
void* malloc(size_t size) {
  return allocation_fails(__builtin_return_address(0), size) ? NULL : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) { return fails(ALLOC) ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails(ALLOC) ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return fails(ALLOC) ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails(ALLOC) ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  if (allocation_fails(__builtin_return_address(0), size)) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? ENOMEM : 0;
}

void* mmap64(void* address, size_t length, int protection, int flags, int fd, off64_t offset) {
  if (fails(flags & MAP_ANONYMOUS ? ALLOC : MMAP)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(address, length, protection, flags, fd, offset);
}

static size_t shortened(size_t size) { return size > 1 ? size / 2 : size; }

ssize_t read(int fd, void* to, size_t size) {
  if (fails(READ)) {
    if (error_number != 0) return -1;
    size = shortened(size);
  }
  return syscall(SYS_read, fd, to, size);
}
ssize_t pread64(int fd, void* to, size_t size, off64_t offset) {
  if (fails(PREAD)) {
    if (error_number != 0) return -1;
    size = shortened(size);
  }
  return syscall(SYS_pread64, fd, to, size, offset);
}
ssize_t pread(int fd, void* to, size_t size, off_t offset) { return pread64(fd, to, size, offset); }
ssize_t write(int fd, const void* from, size_t size) {
  if (fails(WRITE)) {
    if (error_number != 0) return -1;
    size = shortened(size);
  }
  return syscall(SYS_write, fd, from, size);
}
int fsync(int fd) { return fails(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd); }
int rename(const char* from, const char* to) { return fails(RENAME) ? -1 : (int)syscall(SYS_rename, from, to); }

static int open_as(const char* path, int flags, va_list more) {
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
  return fails(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_as(path, flags, more);
  va_end(more);
  return fd;
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_as(path, flags, more);
  va_end(more);
  return fd;
}
// A failing close still closes.
int close(int fd) {
  const int failed = fails(CLOSE);
  const int closed = (int)syscall(SYS_close, fd);
  if (failed) errno = error_number;
  return failed ? -1 : closed;
}
int fstat(int fd, struct stat* status) {
  static void* found_fstat;
  return fails(FSTAT) ? -1 : REAL(fstat)(fd, status);
}
int fstat64(int fd, struct stat64* status) {
  static void* found_fstat64;
  return fails(FSTAT) ? -1 : REAL(fstat64)(fd, status);
}

// oneDNN 3.2 does not check the allocation of the small blocks of an engine and a stream, and would dereference a null
// pointer. This is not a fault of the tested program, so these allocations always succeed.
int dnnl_engine_create(void** engine, int kind, size_t index) {
  static void* found_create;
  const int was_on = atomic_exchange(&on, 0);
  const int status = ((int (*)(void**, int, size_t))real("dnnl_engine_create", &found_create))(engine, kind, index);
  atomic_store(&on, was_on);
  return status;
}
int dnnl_stream_create(void** stream, void* engine, unsigned flags) {
  static void* found_create;
  const int was_on = atomic_exchange(&on, 0);
  const int status =
      ((int (*)(void**, void*, unsigned))real("dnnl_stream_create", &found_create))(stream, engine, flags);
  atomic_store(&on, was_on);
  return status;
}

static int (*program_main)(int, char**, char**);

static int watched_main(int argc, char** argv, char** environment) {
  const char* program = getenv("FAULT_PROGRAM");
  const char* calls = getenv("FAULT_CALLS");
  if (program == NULL || calls == NULL || strcmp(program, program_invocation_short_name) != 0)
    return program_main(argc, argv, environment);
  for (int call = 0; call < CALLS; ++call) {
    const char* at = strstr(calls, kNames[call]);
    for (; at != NULL && !watched[call]; at = strstr(at + 1, kNames[call])) {
      const char after = at[strlen(kNames[call])];
      watched[call] = (at == calls || at[-1] == ',') && (after == ',' || after == '\0');
    }
  }
  first = number("FAULT_AT", 0);
  how_many = number("FAULT_FOR", 1);
  error_number = (int)number("FAULT_ERROR", ENOMEM);
  const char* file = getenv("FAULT_COUNT");
  if (file != NULL) {
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    void* shared = (void*)syscall(SYS_mmap, NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) counts = shared;
    syscall(SYS_close, fd);
  }
  atomic_store(&on, 1);
  return program_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  __typeof__(&__libc_start_main) start = (__typeof__(&__libc_start_main))dlsym(RTLD_NEXT, "__libc_start_main");
  program_main = main;
  return start(watched_main, argc, argv, init, fini, rtld_fini, stack_end);
}
