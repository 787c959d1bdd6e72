// The interface for communication between ranks. Nothing else connects cooperating processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/base/dtype.h"

namespace attn::communicators {

/// The reduction of the ranks' numbers.
enum class Reduction : std::uint8_t { sum, max };

/// The collectives, as named in counts and messages.
enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, shift, broadcast, barrier };
[[nodiscard]] std::string_view name_of(Collective collective);

/// The collectives that one rank has taken part in.
struct Count {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  ///< bytes of the whole array: S in the cost model
  double seconds = 0;
};
using Counts = std::map<Collective, Count>;

/// A rank among others. Every rank calls the same collectives in the same order, with matching sizes. A collective
/// throws Error (no_device) if the library fails, or if the deadline passes because a rank hangs or is gone. Not
/// thread-safe.
class Communicator {
 public:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// "Open MPI 4.1.4"
  [[nodiscard]] virtual std::string library() const = 0;

  /// out = Σ or max over ranks of `in`, with the same bits on every rank. Half precision is summed in float32 or wider
  /// and rounded once. `out` may alias `in`.
  void all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how);
  /// Starts an all-reduce without waiting for it, and returns its number for finish(). `in` may be reused immediately;
  /// `out` has the result after finish(). All ranks begin and finish in the same order.
  [[nodiscard]] std::int64_t begin_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                                              Reduction how);
  /// Advances pending all-reduces. Call it between other work: some libraries only communicate during their own calls.
  void progress();
  /// Waits for the all-reduce with this number.
  void finish(std::int64_t begun);
  /// Concatenates the ranks' bytes in `all`; `bytes` has the size of each rank's contribution.
  void all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes);
  /// own = this rank's shard of Σ over ranks of `all`; `counts` has the number of elements of each rank's shard.
  void reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts, DType dtype);
  /// Sends bytes to the next rank (the last rank sends to the first), and receives those of the previous one.
  void shift(std::span<const std::byte> give, std::span<std::byte> take);
  /// Copies the bytes of `root` to every rank.
  void broadcast(std::span<std::byte> bytes, int root);
  /// Returns once all ranks have called it.
  void barrier();
  /// Ends all ranks immediately with this exit code. Does not return if ranks are processes.
  virtual void abort(int code) noexcept = 0;

  /// Describes the next collective, for the error message if it misses its deadline. The text is not copied: it must be
  /// a literal, or outlive the collective.
  void describe_next(std::string_view what) noexcept { what_ = what; }
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  void reset_counts() { counts_.clear(); }
  /// Sets the seconds after which a collective fails.
  void set_deadline(double seconds) noexcept { deadline_ = seconds; }

 protected:
  virtual void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) = 0;
  virtual void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) = 0;
  virtual void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                                 DType dtype) = 0;
  virtual void do_shift(std::span<const std::byte> give, std::span<std::byte> take) = 0;
  virtual void do_broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void do_barrier() = 0;

  /// A pending all-reduce.
  struct PendingAllReduce {
    PendingAllReduce() = default;
    virtual ~PendingAllReduce() = default;
    PendingAllReduce(const PendingAllReduce&) = delete;
    PendingAllReduce& operator=(const PendingAllReduce&) = delete;
  };
  /// Returns null if the all-reduce is already complete, as in libraries without asynchronous sums.
  [[nodiscard]] virtual std::unique_ptr<PendingAllReduce> do_begin_all_reduce(const std::byte* in, std::byte* out,
                                                                              std::int64_t count, DType dtype,
                                                                              Reduction how);
  virtual void do_progress(PendingAllReduce&) {}
  virtual void do_finish(PendingAllReduce&) {}
  /// Returns whether an all-reduce is pending.
  [[nodiscard]] bool has_begun() const noexcept { return !begun_.empty(); }

  [[nodiscard]] double deadline() const noexcept { return deadline_; }
  /// Describes the current collective: "collective 17, all_reduce of 2,048 bytes for layer 'dense'".
  [[nodiscard]] std::string at_work() const;
  /// Returns the clock in seconds; simulated ranks have their own clock.
  [[nodiscard]] virtual double now() const;

 private:
  template <typename Body>
  void counted(Collective collective, std::int64_t bytes, const Body& body);

  /// The description of a collective in messages.
  struct Work {
    Collective collective = Collective::barrier;
    std::int64_t number = 0, bytes = 0;
    std::string_view what;
  };
  struct Open {
    Work work;
    std::unique_ptr<PendingAllReduce> begun;
  };

  int rank_, size_;
  double deadline_ = 60;
  std::string_view what_;
  std::int64_t number_ = 0;
  Work current_;
  std::map<std::int64_t, Open> begun_;  // keys are the numbers of begin_all_reduce
  Counts counts_;
};

/// Returns a communicator with a single rank.
[[nodiscard]] std::unique_ptr<Communicator> make_self();

}  // namespace attn::communicators
