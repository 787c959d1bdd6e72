#include "nccl_ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "device.h"
#include "time_limits.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#define ATTN_HAS_NCCL
#endif

namespace attn::cuda {

using communicators::Reduction;

#ifdef ATTN_HAS_NCCL

struct NcclLibrary {
  decltype(&::ncclGetVersion) get_version = nullptr;
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) init = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
  int version = 0;
};

namespace {

Error no_nccl(const std::string& message) { return {ExitCode::no_device, "NCCL: " + message}; }

/// The oldest supported version. Non-blocking communicators exist since 2.14, and are finalized in order since 2.18.
constexpr int kOldest = NCCL_VERSION(2, 18, 0);

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

NcclLibrary load() {
  void* const file = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);  // never closed, because its threads keep running
  if (file == nullptr)
    throw no_nccl(printable(dlerror()) + "; libnccl.so.2 must be where the loader looks (LD_LIBRARY_PATH)");
  NcclLibrary library;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    if (function == nullptr) throw no_nccl(fmt::format("libnccl.so.2 has no {}: it is older than 2.18", name));
  };
  find(library.get_version, "ncclGetVersion");
  find(library.get_unique_id, "ncclGetUniqueId");
  find(library.init, "ncclCommInitRankConfig");
  find(library.async_error, "ncclCommGetAsyncError");
  find(library.finalize, "ncclCommFinalize");
  find(library.destroy, "ncclCommDestroy");
  find(library.abort, "ncclCommAbort");
  find(library.error_string, "ncclGetErrorString");
  find(library.last_error, "ncclGetLastError");
  find(library.all_reduce, "ncclAllReduce");
  find(library.all_gather, "ncclAllGather");
  find(library.reduce_scatter, "ncclReduceScatter");
  find(library.reduce, "ncclReduce");
  find(library.broadcast, "ncclBroadcast");
  find(library.send, "ncclSend");
  find(library.receive, "ncclRecv");
  find(library.group_start, "ncclGroupStart");
  find(library.group_end, "ncclGroupEnd");
  library.get_version(&library.version);
  if (library.version < kOldest)
    throw no_nccl(fmt::format("libnccl.so.2 is {}, and attn wants {} or later", version_text(library.version),
                              version_text(kOldest)));
  return library;
}

const NcclLibrary& library() {
  static const NcclLibrary kLibrary = load();  // loaded once, and again after an exception
  return kLibrary;
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return ncclFloat64;
    case DType::int8:
      return ncclInt8;
    case DType::uint8:
    case DType::boolean:
      return ncclUint8;
    case DType::int32:
      return ncclInt32;
    case DType::uint32:
      return ncclUint32;
    case DType::int64:
      return ncclInt64;
    case DType::uint64:
      return ncclUint64;
    case DType::float32:
      return ncclFloat32;
    default:
      break;
  }
  throw internal_error("NCCL does not support sums of {}", name_of(dtype));
}

std::size_t size_of(std::int64_t count) { return static_cast<std::size_t>(count); }

bool are_equal(std::span<const std::int64_t> parts) {
  return std::ranges::adjacent_find(parts, std::ranges::not_equal_to()) == parts.end();
}

}  // namespace

void Nccl::expect_library() { (void)cuda::library(); }

Nccl::Nccl(std::unique_ptr<communicators::Communicator> host)
    : Communicator(host->rank(), host->size()), library_(cuda::library()), host_(std::move(host)) {
  ncclUniqueId id{};
  if (rank() == 0) check(library_.get_unique_id(&id), "creating an id");
  host_->broadcast(std::as_writable_bytes(std::span(id.internal)), 0);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // so that attn can give up on ranks that do not join
  check(library_.init(&comm_, size(), id, rank(), &config), "connecting the ranks");
  settle("connecting the ranks");
}

Nccl::~Nccl() {
  if (comm_ == nullptr) return;
  try {
    check(library_.finalize(comm_), "leaving");
    settle("leaving");
  } catch (const std::exception&) {
    return;  // an aborted communicator needs no finalization
  }
  library_.destroy(comm_);
}

std::string Nccl::library() const {
  return fmt::format("NCCL {} and {}", version_text(library_.version), host_->library());
}

bool Nccl::adds(DType dtype) {
  return dtype != DType::float16 && dtype != DType::bfloat16 && dtype != DType::int16 && dtype != DType::uint16;
}

void Nccl::end() noexcept {
  if (comm_ != nullptr) library_.abort(comm_);
  comm_ = nullptr;
}

void Nccl::check(int code, const char* doing) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  const char* const more = library_.last_error(comm_);
  const std::string text = printable(library_.error_string(static_cast<ncclResult_t>(code)));
  const std::string detail = more != nullptr && *more != '\0' ? " (" + printable(more) + ")" : "";
  end();
  const bool lost = code == ncclRemoteError;
  throw no_nccl(fmt::format("{}: {}", doing, lost ? "another rank has exited or failed" + detail : text + detail));
}

/// A non-blocking communicator must be polled for completion before the next call and before a recording ends.
void Nccl::settle(const char* doing) {
  constexpr unsigned kPause = 100;  // microseconds
  const double from = now();
  for (;;) {
    ncclResult_t state = ncclSuccess;
    check(library_.async_error(comm_, &state), doing);
    check(state, doing);
    if (state != ncclInProgress) return;
    if (const double passed = now() - from; passed > deadline()) give_up(passed, doing);
    ::usleep(kPause);
  }
}

void Nccl::give_up(double passed, const char* doing) {
  end();
  throw Error(
      ExitCode::no_device,
      fmt::format("NCCL: {}: not all ranks arrived within {:.3g} s: one hangs, was stopped or is cut off (on hosts "
                  "with several network interfaces NCCL_SOCKET_IFNAME names the one to use; NCCL_DEBUG=INFO "
                  "prints which one it used)",
                  doing, passed))
      .about("timeout");
}

template <typename Calls>
void Nccl::grouped(const char* doing, const Calls& calls) {
  if (comm_ == nullptr) throw no_nccl("it was already aborted");
  check(library_.group_start(), doing);
  calls();
  check(library_.group_end(), doing);
  settle(doing);
}

void Nccl::sum_on(cudaStream_t stream, const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                  Reduction how) {
  grouped("an all-reduce", [&] {
    check(library_.all_reduce(in, out, size_of(count), type_of(dtype), how == Reduction::sum ? ncclSum : ncclMax, comm_,
                              stream),
          "an all-reduce");
  });
}

void Nccl::gather_on(cudaStream_t stream, const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) {
  grouped("an all-gather", [&] {
    if (are_equal(bytes)) {
      check(library_.all_gather(own, all, size_of(bytes[0]), ncclUint8, comm_, stream), "an all-gather");
      return;
    }
    // NCCL's own all-gather needs shards of equal size.
    for (int root = 0; root < size(); ++root) {
      const std::int64_t part = bytes[static_cast<std::size_t>(root)];
      if (part > 0) check(library_.broadcast(own, all, size_of(part), ncclUint8, root, comm_, stream), "an all-gather");
      all += part;
    }
  });
}

void Nccl::scatter_on(cudaStream_t stream, const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                      DType dtype) {
  grouped("a reduce-scatter", [&] {
    if (are_equal(counts)) {
      check(library_.reduce_scatter(all, own, size_of(counts[0]), type_of(dtype), ncclSum, comm_, stream),
            "a reduce-scatter");
      return;
    }
    for (int root = 0; root < size(); ++root) {
      const std::int64_t part = counts[static_cast<std::size_t>(root)];
      if (part > 0)
        check(library_.reduce(all, own, size_of(part), type_of(dtype), ncclSum, root, comm_, stream),
              "a reduce-scatter");
      all += part * bytes_of(dtype);
    }
  });
}

void Nccl::shift_on(cudaStream_t stream, std::span<const std::byte> give, std::span<std::byte> take) {
  const int next = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  grouped("a shift", [&] {
    if (!give.empty()) check(library_.send(give.data(), give.size(), ncclUint8, next, comm_, stream), "a shift");
    if (!take.empty()) check(library_.receive(take.data(), take.size(), ncclUint8, before, comm_, stream), "a shift");
  });
}

void Nccl::wait(cudaStream_t stream) {
  constexpr double kEager = 10e-3;    // most passes finish within this time
  constexpr unsigned kPause = 100;    // microseconds
  constexpr double kAskAfter = 0.25;  // seconds between checks for lost ranks
  const double from = now();
  for (double asked = from;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) {
      end();
      cuda::check(state, "running the pass");
    }
    const double time = now();
    if (time - from > deadline()) give_up(time - from, "a pass");
    if (comm_ != nullptr && time - asked > kAskAfter) {
      ncclResult_t found = ncclSuccess;
      check(library_.async_error(comm_, &found), "a pass");
      check(found, "a pass");
      asked = time;
    }
    if (time - from > kEager) ::usleep(kPause);
  }
}

#else

struct NcclLibrary {};

namespace {
[[noreturn]] const NcclLibrary& none() {
  throw Error(ExitCode::no_device, "this attn was built without NCCL, whose header was not there");
}
}  // namespace

void Nccl::expect_library() { (void)none(); }
Nccl::Nccl(std::unique_ptr<communicators::Communicator> host)
    : Communicator(host->rank(), host->size()), library_(none()), host_(std::move(host)) {}
Nccl::~Nccl() = default;
std::string Nccl::library() const { return host_->library(); }
bool Nccl::adds(DType) { return true; }
void Nccl::sum_on(cudaStream_t, const std::byte*, std::byte*, std::int64_t, DType, Reduction) {}
void Nccl::gather_on(cudaStream_t, const std::byte*, std::byte*, std::span<const std::int64_t>) {}
void Nccl::scatter_on(cudaStream_t, const std::byte*, std::byte*, std::span<const std::int64_t>, DType) {}
void Nccl::shift_on(cudaStream_t, std::span<const std::byte>, std::span<std::byte>) {}
void Nccl::wait(cudaStream_t stream) { cuda::await(stream, time_limits().seconds, "running the pass"); }
void Nccl::end() noexcept {}

#endif

void Nccl::abort(int code) noexcept {
  end();
  host_->abort(code);
}

void Nccl::passed(communicators::Collective collective, std::int64_t bytes) {
  only_counts_ = true;
  const std::int64_t whole[] = {bytes};
  switch (collective) {
    case communicators::Collective::all_reduce:
      all_reduce(nullptr, nullptr, bytes, DType::uint8, Reduction::sum);
      break;
    case communicators::Collective::all_gather:
      all_gather(nullptr, nullptr, whole);
      break;
    case communicators::Collective::reduce_scatter:
      reduce_scatter(nullptr, nullptr, whole, DType::uint8);
      break;
    default:
      shift({static_cast<const std::byte*>(nullptr), static_cast<std::size_t>(bytes)}, {});
  }
  only_counts_ = false;
}

void Nccl::do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) {
  if (!only_counts_) host_->all_reduce(in, out, count, dtype, how);
}
void Nccl::do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) {
  if (!only_counts_) host_->all_gather(own, all, bytes);
}
void Nccl::do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts, DType dtype) {
  if (!only_counts_) host_->reduce_scatter(all, own, counts, dtype);
}
void Nccl::do_shift(std::span<const std::byte> give, std::span<std::byte> take) {
  if (!only_counts_) host_->shift(give, take);
}
void Nccl::do_broadcast(std::span<std::byte> bytes, int root) { host_->broadcast(bytes, root); }
void Nccl::do_barrier() { host_->barrier(); }

}  // namespace attn::cuda
