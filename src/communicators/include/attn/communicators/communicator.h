// The one seam between processes that work on one thing together and what carries bytes between them.
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

/// How numbers of several ranks become one.
enum class Reduction : std::uint8_t { sum, max };

/// The collectives, as counts and messages name them.
enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, shift, broadcast, barrier };
[[nodiscard]] std::string_view name_of(Collective collective);

/// What one rank has taken part in.
struct Count {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  ///< of the whole array, as the cost model has it: S
  double seconds = 0;
};
using Counts = std::map<Collective, Count>;

/// A rank among others. Every rank calls the same collectives in the same order, with sizes that fit. Each of them
/// throws Error (no_device) where it has not ended within the deadline, because a rank hangs or is gone, and where the
/// library fails. Not for two threads at once.
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

  /// out = Σ or max over ranks of `in`, the same bits on every rank. Halves are added in float32 or wider and rounded
  /// once. `out` may be `in`.
  void all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how);
  /// The same sum, which goes on beside other work of this rank: `in` is free at once, and `out` has the sum when
  /// finish() has returned for the number that this gives. All ranks begin and finish in one order.
  [[nodiscard]] std::int64_t begin_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                                              Reduction how);
  /// Lets what was begun go on, where that takes this rank's own thread: to be called between other work.
  void progress();
  void finish(std::int64_t begun);
  /// all = the ranks' bytes one behind the other; `bytes` has how many of each.
  void all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes);
  /// own = this rank's part of Σ over ranks of `all`; `counts` has how many numbers are each rank's.
  void reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts, DType dtype);
  /// Gives bytes to the next rank, the last to the first, and takes those of the one before.
  void shift(std::span<const std::byte> give, std::span<std::byte> take);
  /// Everybody has what `root` has.
  void broadcast(std::span<std::byte> bytes, int root);
  /// Returns when all have come.
  void barrier();
  /// Ends all ranks with this exit code, at once. Does not return where other processes are meant.
  virtual void abort(int code) noexcept = 0;

  /// What the next collective is for, for the message of a deadline: a literal, or text that lives as long.
  void say(std::string_view what) noexcept { what_ = what; }
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  void reset_counts() { counts_.clear(); }
  /// Seconds after which a collective is given up.
  void set_deadline(double seconds) noexcept { deadline_ = seconds; }

 protected:
  virtual void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) = 0;
  virtual void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) = 0;
  virtual void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                                 DType dtype) = 0;
  virtual void do_shift(std::span<const std::byte> give, std::span<std::byte> take) = 0;
  virtual void do_broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void do_barrier() = 0;

  /// A sum on its way.
  struct Begun {
    Begun() = default;
    virtual ~Begun() = default;
    Begun(const Begun&) = delete;
    Begun& operator=(const Begun&) = delete;
  };
  /// Null where it has ended already, as where there is no way to begin one.
  [[nodiscard]] virtual std::unique_ptr<Begun> do_begin_all_reduce(const std::byte* in, std::byte* out,
                                                                   std::int64_t count, DType dtype, Reduction how);
  virtual void do_progress(Begun&) {}
  virtual void do_finish(Begun&) {}
  /// Is a sum on its way?
  [[nodiscard]] bool has_begun() const noexcept { return !begun_.empty(); }

  [[nodiscard]] double deadline() const noexcept { return deadline_; }
  /// "collective 17, all_reduce of 2,048 bytes for layer 'dense'"
  [[nodiscard]] std::string at_work() const;
  /// Seconds of a clock; a stand-in has one of its own.
  [[nodiscard]] virtual double now() const;

 private:
  template <typename Body>
  void counted(Collective collective, std::int64_t bytes, const Body& body);

  /// What messages tell of a collective.
  struct Work {
    Collective collective = Collective::barrier;
    std::int64_t number = 0, bytes = 0;
    std::string_view what;
  };
  struct Open {
    Work work;
    std::unique_ptr<Begun> begun;
  };

  int rank_, size_;
  double deadline_ = 60;
  std::string_view what_;
  std::int64_t number_ = 0;
  Work current_;
  std::map<std::int64_t, Open> begun_;  // by number
  Counts counts_;
};

/// One rank that stands alone.
[[nodiscard]] std::unique_ptr<Communicator> make_self();

}  // namespace attn::communicators
