/* Functions of later C libraries that the static C++ library of GCC 12 calls, for programs linked against glibc 2.31. */
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
