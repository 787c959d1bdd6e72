/* bin/attn of the archive: starts ../lib/attn/attn with the loader and the C library of ../lib/attn/glibc, so that it runs on
 * systems with an older C library or another one. Linked statically. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the path of this program. Without /proc it is the name that it was called by. */
static int own_path(const char *called, char *path) {
  ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (size > 0) {
    path[size] = '\0';
    return 0;
  }
  return realpath(called, path) == NULL ? -1 : 0;
}

int main(int argc, char **argv) {
  static char path[PATH_MAX], loader[PATH_MAX + 64], program[PATH_MAX + 64];
  if (own_path(argv[0], path) != 0) {
    fprintf(stderr, "attn: error: cannot find the folder of this program without /proc; call it by its path\n");
    return 70;
  }
  *strrchr(path, '/') = '\0'; /* bin */
  char *slash = strrchr(path, '/');
  if (slash != NULL) *slash = '\0'; /* the folder of bin */
  snprintf(loader, sizeof loader, "%s/lib/attn/glibc/ld.so", path);
  snprintf(program, sizeof program, "%s/lib/attn/attn", path);
  /* Libraries of the system come last: CUDA's, for example. */
  const char *others = getenv("LD_LIBRARY_PATH");
  size_t size = 2 * strlen(path) + (others != NULL ? strlen(others) : 0) + 64;
  char *folders = malloc(size);
  char **words = malloc(((size_t)argc + 4) * sizeof *words);
  if (folders == NULL || words == NULL) return 4;
  snprintf(folders, size, "%s/lib/attn/glibc:%s/lib/attn%s%s", path, path, others != NULL && *others != '\0' ? ":" : "",
           others != NULL ? others : "");
  words[0] = loader;
  words[1] = "--library-path";
  words[2] = folders;
  words[3] = program;
  for (int i = 1; i <= argc; ++i) words[3 + i] = argc > 0 ? argv[i] : NULL;
  execv(loader, words);
  fprintf(stderr, "attn: error: %s cannot be started: %s\n", loader, strerror(errno));
  return 70;
}
