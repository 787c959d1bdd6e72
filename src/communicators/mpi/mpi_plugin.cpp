// Ranks as processes over MPI. This is the only file that uses MPI; it is compiled once for Open MPI and once for
// MPICH.
//
// Every collective is non-blocking and polled until it completes, so that attn can abandon one that hangs.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <numeric>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/base/text.h"
#include "attn/communicators/communicator.h"
#include "attn/communicators/launch.h"

namespace attn::communicators {
namespace {

/// MPI counts elements in int.
constexpr std::int64_t kMostAtOnce = 1 << 30;

class Mpi final : public Communicator {
 public:
  /// Takes ownership of the communicator.
  Mpi(MPI_Comm comm, int rank, int size) : Communicator(rank, size), comm_(comm) {}

  ~Mpi() override {
    // After a failure, other ranks may never reach the barrier.
    if (has_failed_ || has_begun() || comm_ != MPI_COMM_WORLD) return;
    try {
      barrier();
      MPI_Finalize();
    } catch (const std::exception&) {
    }
  }

  [[nodiscard]] std::string library() const override {
    std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING + 1, '\0');
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string_view whole(text.data());
    // "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\n…"
    if (whole.starts_with("Open MPI v")) return "Open MPI " + std::string(whole.substr(10, whole.find(',') - 10));
    if (whole.starts_with("MPICH Version:")) {
      const auto from = whole.find_first_of("0123456789");
      return "MPICH " + std::string(whole.substr(from, whole.find('\n') - from));
    }
    return printable(whole.substr(0, whole.find('\n')));
  }

  void abort(int code) noexcept override {
    has_failed_ = true;
    MPI_Abort(MPI_COMM_WORLD, code);
  }

 protected:
  void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) override {
    if (is_half(dtype)) {
      for (std::int64_t from = 0; from < count; from += kMostAtOnce) {
        const std::int64_t some = std::min(count - from, kMostAtOnce), before = from * bytes_of(dtype);
        const auto sum = begin_sum_of_halves(in + before, out + before, some, dtype, how);
        do_finish(*sum);
      }
      return;
    }
    Sum sum;
    begin_sum(sum, in, out, count, dtype, how);
    wait_for(sum.requests);
  }

  std::unique_ptr<PendingAllReduce> do_begin_all_reduce(const std::byte* in, std::byte* out, std::int64_t count,
                                                        DType dtype, Reduction how) override {
    if (is_half(dtype) && count <= kMostAtOnce) return begin_sum_of_halves(in, out, count, dtype, how);
    if (is_half(dtype)) return Communicator::do_begin_all_reduce(in, out, count, dtype, how);
    auto sum = std::make_unique<Sum>();
    // The caller may overwrite `in`.
    if (in != out && count > 0) std::memcpy(out, in, static_cast<std::size_t>(count * bytes_of(dtype)));
    begin_sum(*sum, out, out, count, dtype, how);
    return sum;
  }

  void do_progress(PendingAllReduce& begun) override {
    if (have_ended(static_cast<Sum&>(begun).requests) && !unadded_.empty() && unadded_.front() == &begun) add_up();
  }

  void do_finish(PendingAllReduce& begun) override {
    while (std::ranges::find(unadded_, &begun) != unadded_.end()) {
      wait_for(unadded_.front()->requests);
      add_up();
    }
    wait_for(static_cast<Sum&>(begun).requests);
  }

  void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) override {
    const std::int64_t whole = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    if (whole > kMostAtOnce) return gather_by_broadcasts(own, all, bytes);
    std::vector<int> counts, places;
    int place = 0;
    for (const std::int64_t part : bytes) {
      counts.push_back(static_cast<int>(part));
      places.push_back(place);
      place += static_cast<int>(part);
    }
    wait([&](MPI_Request* request) {
      return MPI_Iallgatherv(own, counts[static_cast<std::size_t>(rank())], MPI_BYTE, all, counts.data(), places.data(),
                             MPI_BYTE, comm_, request);
    });
  }

  void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                         DType dtype) override {
    const std::int64_t whole = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const auto mine = static_cast<std::size_t>(rank());
    if (const Tensor wide = widened(all, whole, dtype); wide.size() == whole && whole > 0) {
      const Tensor part(wide.dtype(), {counts[mine]});
      do_reduce_scatter(wide.data(), part.data(), counts, wide.dtype());
      for (std::int64_t i = 0; i < counts[mine]; ++i) Tensor::store(dtype, own, i, part.at(i));
      return;
    }
    if (whole > kMostAtOnce) {
      const Tensor sum(dtype, {whole});
      do_all_reduce(all, sum.data(), whole, dtype, Reduction::sum);
      const std::int64_t from = std::accumulate(counts.begin(), counts.begin() + rank(), std::int64_t{0});
      std::memcpy(own, sum.data() + from * bytes_of(dtype), static_cast<std::size_t>(counts[mine] * bytes_of(dtype)));
      return;
    }
    std::vector<int> parts;
    for (const std::int64_t part : counts) parts.push_back(static_cast<int>(part));
    wait([&](MPI_Request* request) {
      return MPI_Ireduce_scatter(all, own, parts.data(), type_of(dtype), MPI_SUM, comm_, request);
    });
  }

  void do_shift(std::span<const std::byte> give, std::span<std::byte> take) override {
    const int next = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
    std::vector<MPI_Request> requests;
    const auto pieces = [&](auto bytes, const auto& begin) {
      for (std::size_t from = 0; from == 0 || from < bytes.size(); from += kMostAtOnce) {
        const auto some = std::min<std::size_t>(bytes.size() - from, kMostAtOnce);
        check(begin(bytes.data() + from, static_cast<int>(some), &requests.emplace_back(MPI_REQUEST_NULL)));
      }
    };
    pieces(take, [&](void* at, int count, MPI_Request* request) {
      return MPI_Irecv(at, count, MPI_BYTE, before, 0, comm_, request);
    });
    pieces(give, [&](const void* at, int count, MPI_Request* request) {
      return MPI_Isend(at, count, MPI_BYTE, next, 0, comm_, request);
    });
    wait_for(requests);
  }

  void do_broadcast(std::span<std::byte> bytes, int root) override {
    for (std::size_t from = 0; from == 0 || from < bytes.size(); from += kMostAtOnce) {
      const auto some = std::min<std::size_t>(bytes.size() - from, kMostAtOnce);
      wait([&](MPI_Request* request) {
        return MPI_Ibcast(bytes.data() + from, static_cast<int>(some), MPI_BYTE, root, comm_, request);
      });
    }
  }

  void do_barrier() override {
    wait([&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
  }

 private:
  struct Sum : PendingAllReduce {
    std::vector<MPI_Request> requests;
  };

  /// MPI has no half precision. Each rank receives its shard of the numbers from all ranks, adds them in a wider type,
  /// rounds once, and sends the result to all others.
  struct SumOfHalves final : Sum {
    std::byte* out = nullptr;
    DType dtype = DType::bfloat16;
    Reduction how = Reduction::sum;
    std::vector<int> counts, places;  // sizes and offsets of the ranks' shards
    std::vector<int> takes, to;       // sizes and offsets of the other ranks' contributions to this rank's shard
    std::shared_ptr<std::byte> given, shares;  // this rank's numbers, and all contributions to its shard
  };

  std::unique_ptr<SumOfHalves> begin_sum_of_halves(const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                                                   Reduction how) {
    // The gather has a separate communicator, because ranks may start it before or after the next sum begins.
    if (gathering_ == MPI_COMM_NULL)
      wait([&](MPI_Request* request) { return MPI_Comm_idup(comm_, &gathering_, request); });
    auto sum = std::make_unique<SumOfHalves>();
    sum->out = out;
    sum->dtype = dtype;
    sum->how = how;
    for (int rank = 0; rank < size(); ++rank) {
      const std::int64_t from = count * rank / size(), to = count * (rank + 1) / size();
      sum->places.push_back(static_cast<int>(from));
      sum->counts.push_back(static_cast<int>(to - from));
    }
    sum->given = allocate_bytes(count * bytes_of(dtype));
    if (count > 0) std::memcpy(sum->given.get(), in, static_cast<std::size_t>(count * bytes_of(dtype)));
    const int own = sum->counts[static_cast<std::size_t>(rank())];
    sum->shares = allocate_bytes(static_cast<std::int64_t>(own) * size() * bytes_of(dtype));
    sum->takes.assign(sum->counts.size(), own);
    for (int rank = 0; rank < size(); ++rank) sum->to.push_back(own * rank);
    check(MPI_Ialltoallv(sum->given.get(), sum->counts.data(), sum->places.data(), MPI_UINT16_T, sum->shares.get(),
                         sum->takes.data(), sum->to.data(), MPI_UINT16_T, comm_,
                         &sum->requests.emplace_back(MPI_REQUEST_NULL)));
    unadded_.push_back(sum.get());
    return sum;
  }

  /// Adds the contributions to the oldest sum that is not added up yet; every rank adds up in the same order.
  void add_up() {
    SumOfHalves& sum = *unadded_.front();
    unadded_.pop_front();
    const auto mine = static_cast<std::size_t>(rank());
    const std::int64_t own = sum.counts[mine], before = sum.places[mine];
    for (std::int64_t i = 0; i < own; ++i) {
      double all = Tensor::load(sum.dtype, sum.shares.get(), i);
      for (int rank = 1; rank < size(); ++rank) {
        const double other = Tensor::load(sum.dtype, sum.shares.get(), rank * own + i);
        all = sum.how == Reduction::sum ? all + other : (all != all || all > other ? all : other);
      }
      Tensor::store(sum.dtype, sum.out, before + i, all);
    }
    check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_UINT16_T, sum.out, sum.counts.data(), sum.places.data(), MPI_UINT16_T,
                          gathering_, sum.requests.data()));
  }

  void begin_sum(Sum& sum, const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) {
    const std::int64_t size = bytes_of(dtype);
    for (std::int64_t from = 0; from == 0 || from < count; from += kMostAtOnce) {
      const std::int64_t some = std::min(count - from, kMostAtOnce);
      const void* give = in == out ? MPI_IN_PLACE : static_cast<const void*>(in + from * size);
      check(MPI_Iallreduce(give, out + from * size, static_cast<int>(some), type_of(dtype),
                           how == Reduction::sum ? MPI_SUM : MPI_MAX, comm_,
                           &sum.requests.emplace_back(MPI_REQUEST_NULL)));
    }
  }

  static bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

  static MPI_Datatype type_of(DType dtype) {
    switch (dtype) {
      case DType::float32:
        return MPI_FLOAT;
      case DType::float64:
        return MPI_DOUBLE;
      case DType::int8:
        return MPI_INT8_T;
      case DType::int16:
        return MPI_INT16_T;
      case DType::int32:
        return MPI_INT32_T;
      case DType::int64:
        return MPI_INT64_T;
      case DType::uint8:
      case DType::boolean:
        return MPI_UINT8_T;
      case DType::uint16:
        return MPI_UINT16_T;
      case DType::uint32:
        return MPI_UINT32_T;
      case DType::uint64:
        return MPI_UINT64_T;
      default:
        break;
    }
    throw internal_error("MPI does not add {}", name_of(dtype));
  }

  /// Converts half precision to float32, in which MPI adds it; empty for other dtypes.
  static Tensor widened(const std::byte* numbers, std::int64_t count, DType dtype) {
    if (!is_half(dtype)) return {};
    Tensor wide(DType::float32, {count});
    for (std::int64_t i = 0; i < count; ++i) wide.set(i, Tensor::load(dtype, numbers, i));
    return wide;
  }

  void gather_by_broadcasts(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) {
    for (int root = 0; root < size(); ++root) {
      const std::int64_t part = bytes[static_cast<std::size_t>(root)];
      if (root == rank() && part > 0) std::memcpy(all, own, static_cast<std::size_t>(part));
      do_broadcast({all, static_cast<std::size_t>(part)}, root);
      all += part;
    }
  }

  void check(int code) {
    if (code == MPI_SUCCESS) return;
    has_failed_ = true;
    std::vector<char> text(MPI_MAX_ERROR_STRING + 1, '\0');
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw Error(ExitCode::no_device, fmt::format("{}: {}: {}", library(), at_work(), printable(text.data())));
  }

  template <typename Begin>
  void wait(const Begin& begin) {
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    check(begin(request.data()));
    wait_for(request);
  }

  [[nodiscard]] bool have_ended(std::vector<MPI_Request>& requests) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    return done != 0;
  }

  /// Waits for all requests. Most collectives take microseconds, so the first millisecond polls without sleeping, but
  /// yields to other ranks on the same core.
  void wait_for(std::vector<MPI_Request>& requests) {
    constexpr double kEager = 1e-3;
    constexpr unsigned kPause = 50;  // microseconds
    const double from = now();
    for (;;) {
      if (have_ended(requests)) return;
      const double passed = now() - from;
      if (passed > deadline()) give_up(passed);
      if (passed < kEager)
        ::sched_yield();
      else
        ::usleep(kPause);
    }
  }

  [[noreturn]] void give_up(double passed) {
    has_failed_ = true;
    throw Error(
        ExitCode::no_device,
        fmt::format(
            "{}: not all ranks arrived within {:.3g} s: one hangs, was stopped or is cut off; on hosts with several "
            "network interfaces, such as Docker's, name the one to use: mpirun --mca btl_tcp_if_include eth0",
            at_work(), passed))
        .about("timeout");
  }

  MPI_Comm comm_, gathering_ = MPI_COMM_NULL;  // two communicators over the same ranks
  std::deque<SumOfHalves*> unadded_;           // sums whose contributions are incomplete or not added up yet
  bool has_failed_ = false;
};

}  // namespace
}  // namespace attn::communicators

extern "C" {

__attribute__((visibility("default"))) const char* attn_plugin_build() { return ATTN_PLUGIN_BUILD; }

__attribute__((visibility("default"))) attn::communicators::Communicator* attn_open_communicator() {
  using attn::Error;
  using attn::ExitCode;
  int given = 0, rank = 0, size = 1;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
    throw Error(ExitCode::no_device, "MPI could not be started");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return new attn::communicators::Mpi(MPI_COMM_WORLD, rank, size);
}

__attribute__((visibility("default"))) attn::communicators::Communicator* attn_split_communicator(int group) {
  MPI_Comm comm = MPI_COMM_NULL;
  int of_all = 0, rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &of_all);
  if (MPI_Comm_split(MPI_COMM_WORLD, group, of_all, &comm) != MPI_SUCCESS)
    throw attn::Error(attn::ExitCode::no_device, "MPI could not make groups of ranks");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return new attn::communicators::Mpi(comm, rank, size);
}
}
