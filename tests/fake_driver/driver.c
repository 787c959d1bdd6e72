// A stand-in for NVIDIA's libcuda.so.1: one GPU, or the failure that the environment selects.
#include <stdlib.h>
#include <string.h>

static int number(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text != NULL ? atoi(text) : otherwise;
}

int cuInit(unsigned flags) {
  (void)flags;
  return number("FAKE_CUDA_INIT", 0);
}
int cuDriverGetVersion(int* version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = number("FAKE_CUDA_COUNT", 1);
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  strncpy(name, "Fake \033[31mGPU", (size_t)length);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? number("FAKE_CUDA_MAJOR", 9) : 0;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 36;
  return 0;
}
