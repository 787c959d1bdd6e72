// A stand-in for NVIDIA's libnccl.so.2. Ranks are processes of one machine that communicate through shared memory; GPU
// memory is host memory, as in the emulated CUDA. Work is put on a stream by that CUDA's cudaLaunchHostFunc, so it is
// recorded if the stream is capturing. Only the work itself blocks.
#include <fcntl.h>
#include <nccl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// Provided by the program: later work never becomes ready.
extern "C" void attn_emulated_hang() __attribute__((weak));

namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // bytes that a rank passes at once
/// The time that work waits for other ranks before it fails.
std::chrono::milliseconds patience() {
  const char* const text = std::getenv("FAKE_NCCL_PATIENCE");
  return std::chrono::milliseconds(text != nullptr ? std::atoi(text) : 20000);
}

/// The state shared by ranks: the progress and the data of each.
struct Shared {
  std::atomic<int> joined;
  std::atomic<int> pids[kMostRanks];
  std::atomic<std::uint64_t> given[kMostRanks], taken[kMostRanks];
  unsigned char data[kMostRanks][kMostBytes];
};

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

template <typename T>
void add(void* to, const void* from, std::size_t count, ncclRedOp_t how) {
  T* const sums = static_cast<T*>(to);
  const T* const more = static_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = how == ncclSum ? static_cast<T>(sums[i] + more[i]) : (sums[i] > more[i] ? sums[i] : more[i]);
}

void add(void* to, const void* from, std::size_t count, ncclDataType_t type, ncclRedOp_t how) {
  switch (type) {
    case ncclInt8:
      return add<std::int8_t>(to, from, count, how);
    case ncclUint8:
      return add<std::uint8_t>(to, from, count, how);
    case ncclInt32:
      return add<std::int32_t>(to, from, count, how);
    case ncclUint32:
      return add<std::uint32_t>(to, from, count, how);
    case ncclInt64:
      return add<std::int64_t>(to, from, count, how);
    case ncclUint64:
      return add<std::uint64_t>(to, from, count, how);
    case ncclFloat32:
      return add<float>(to, from, count, how);
    case ncclFloat64:
      return add<double>(to, from, count, how);
    default:
      std::abort();  // half precision: attn adds it in a wider type
  }
}

}  // namespace

struct ncclComm {
  Shared* shared = nullptr;
  int rank = 0, size = 1;
  std::uint64_t number = 0;  // number of rounds so far
  int asked = 0;             // polls since the last call; the first is answered with ncclInProgress
  ncclResult_t failed = ncclSuccess;
  bool joined = false;

  template <typename Ready>
  bool wait(const Ready& ready) {
    const auto until = std::chrono::steady_clock::now() + patience();
    while (!ready()) {
      for (int other = 0; other < size; ++other)
        if (const int pid = shared->pids[other]; pid != 0 && kill(pid, 0) != 0) failed = ncclRemoteError;
      if (failed != ncclSuccess || std::chrono::steady_clock::now() > until) {
        if (attn_emulated_hang != nullptr) attn_emulated_hang();
        return false;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

  /// Every rank contributes `bytes`, then `read` sees all contributions.
  void round(const void* give, std::size_t bytes, const std::function<void()>& read) {
    if (bytes > kMostBytes) std::abort();
    ++number;
    if (!wait([&] { return all(shared->taken, number - 1); })) return;
    if (bytes > 0) std::memcpy(shared->data[rank], give, bytes);
    shared->given[rank] = number;
    if (!wait([&] { return all(shared->given, number); })) return;
    read();
    shared->taken[rank] = number;
  }
  bool all(const std::atomic<std::uint64_t>* counts, std::uint64_t least) const {
    for (int other = 0; other < size; ++other)
      if (counts[other] < least) return false;
    return true;
  }
};

namespace {

struct Call {
  ncclComm* comm;
  cudaStream_t stream;
  std::function<void()> work;
};
thread_local int depth = 0;
thread_local std::vector<Call> calls;

void run(void* call) { static_cast<Call*>(call)->work(); }  // never freed: a recording runs it again

ncclResult_t submit(ncclComm* comm, cudaStream_t stream, std::function<void()> work) {
  calls.push_back({comm, stream, std::move(work)});
  if (depth == 0) {
    for (Call& one : calls) cudaLaunchHostFunc(one.stream, run, new Call(one));
    calls.clear();
  }
  comm->asked = 0;
  return ncclInProgress;
}

/// A pending message of the current group.
struct Sent {
  const void* bytes;
  std::size_t count;
};
thread_local std::vector<Sent> sent;

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

ncclResult_t ncclGetVersion(int* version) {
  const char* const text = std::getenv("FAKE_NCCL_VERSION");
  *version = text != nullptr ? std::atoi(text) : NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof *id);
  static int number = 0;
  std::snprintf(id->internal, sizeof id->internal, "/attn-fake-nccl-%d-%d", static_cast<int>(getpid()), number++);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* out, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config->blocking != 0 || size > kMostRanks) return ncclInvalidArgument;
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return ncclSystemError;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  auto* const comm = new ncclComm;
  comm->shared = static_cast<Shared*>(memory);
  comm->rank = rank;
  comm->size = size;
  comm->shared->pids[rank] = static_cast<int>(getpid());
  if (++comm->shared->joined == size) shm_unlink(id.internal);
  *out = comm;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->failed;
  comm->joined = comm->joined || comm->shared->joined == comm->size;
  if (*state == ncclSuccess && (comm->asked++ == 0 || !comm->joined)) *state = ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) { return ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t code) { return code == ncclRemoteError ? "remote error" : "an error"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  for (Call& one : calls) cudaLaunchHostFunc(one.stream, run, new Call(one));
  calls.clear();
  sent.clear();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t how,
                           ncclComm_t comm, cudaStream_t stream) {
  return submit(comm, stream, [=] {
    comm->round(in, count * size_of(type), [=] {
      if (count == 0) return;
      std::memcpy(out, comm->shared->data[0], count * size_of(type));
      for (int other = 1; other < comm->size; ++other) add(out, comm->shared->data[other], count, type, how);
    });
  });
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t how, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return submit(comm, stream, [=] {
    comm->round(in, count * size_of(type), [=] {
      if (comm->rank != root || count == 0) return;
      std::memcpy(out, comm->shared->data[0], count * size_of(type));
      for (int other = 1; other < comm->size; ++other) add(out, comm->shared->data[other], count, type, how);
    });
  });
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t how,
                               ncclComm_t comm, cudaStream_t stream) {
  return submit(comm, stream, [=] {
    const std::size_t part = count * size_of(type);
    comm->round(in, part * static_cast<std::size_t>(comm->size), [=] {
      if (part == 0) return;
      const std::size_t from = part * static_cast<std::size_t>(comm->rank);
      std::memcpy(out, comm->shared->data[0] + from, part);
      for (int other = 1; other < comm->size; ++other) add(out, comm->shared->data[other] + from, count, type, how);
    });
  });
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit(comm, stream, [=] {
    const std::size_t part = count * size_of(type);
    comm->round(in, part, [=] {
      for (std::size_t other = 0; part > 0 && other < static_cast<std::size_t>(comm->size); ++other)
        std::memcpy(static_cast<unsigned char*>(out) + other * part, comm->shared->data[other], part);
    });
  });
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit(comm, stream, [=] {
    const std::size_t bytes = count * size_of(type);
    comm->round(in, comm->rank == root ? bytes : 0, [=] { std::memcpy(out, comm->shared->data[root], bytes); });
  });
}
// A message is a round in which all ranks take part: attn sends and receives in one group, on all ranks.
ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int, ncclComm_t comm, cudaStream_t) {
  sent.push_back({in, count * size_of(type)});
  comm->asked = 0;
  return ncclInProgress;
}
ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  const Sent give = sent.empty() ? Sent{nullptr, 0} : sent.back();
  return submit(comm, stream, [=] {
    comm->round(give.bytes, give.count, [=] { std::memcpy(out, comm->shared->data[peer], count * size_of(type)); });
  });
}

#pragma GCC visibility pop
}
