/* Functions of later C libraries that attn and the C++ library of GCC 12 call, for programs linked against glibc 2.31. */
#define _GNU_SOURCE
#include <dirent.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#pragma GCC visibility push(hidden)

/* Whether the process has a single thread. "No" is always correct; it only costs atomic operations. */
char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}

/* Closes the files that are open now. A file that another thread opens later closes itself, if it was opened with
 * O_CLOEXEC, as attn's are. */
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from) {
  DIR *const files = opendir("/proc/self/fd");
  if (files == NULL) return 0;
  int error = 0;
  for (struct dirent *file; error == 0 && (file = readdir(files)) != NULL;) {
    const int fd = atoi(file->d_name);
    if (fd >= from && fd != dirfd(files)) error = posix_spawn_file_actions_addclose(actions, fd);
  }
  closedir(files);
  return error;
}
