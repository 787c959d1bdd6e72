// Loaded before MPI (LD_PRELOAD): simulates a rank that never joins the formation of groups.
#include <unistd.h>

int MPI_Comm_split(void* comm, int color, int key, void* out);

int MPI_Comm_split(void* comm, int color, int key, void* out) {
  (void)comm, (void)color, (void)key, (void)out;
  for (;;) pause();
}
