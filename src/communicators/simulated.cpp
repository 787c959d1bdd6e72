#include "attn/communicators/simulated.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "attn/base/error.h"
#include "attn/base/tensor.h"

namespace attn::communicators {

/// A rendezvous. All ranks meet twice in every collective: after they have published their buffers, and after they have
/// read them.
class World {
 public:
  explicit World(int size) : size_(size), given_(static_cast<std::size_t>(size), nullptr) {}

  [[nodiscard]] int size() const { return size_; }

  void give(int rank, const std::byte* bytes) { given_[static_cast<std::size_t>(rank)] = bytes; }
  [[nodiscard]] const std::byte* of(int rank) const { return given_[static_cast<std::size_t>(rank)]; }

  /// Returns false if a rank has left or the deadline has passed.
  bool meet(double seconds) {
    std::unique_lock lock(mutex_);
    const std::int64_t turn = turn_;
    if (++here_ == size_) {
      here_ = 0;
      ++turn_;
      all_.notify_all();
      return true;
    }
    all_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return turn_ != turn || left_; });
    return turn_ != turn;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    left_ = true;
    all_.notify_all();
  }

 private:
  int size_;
  std::vector<const std::byte*> given_;
  std::mutex mutex_;
  std::condition_variable all_;
  int here_ = 0;
  std::int64_t turn_ = 0;
  bool left_ = false;
};

namespace {

class Simulated final : public Communicator {
 public:
  Simulated(std::shared_ptr<World> world, int rank) : Communicator(rank, world->size()), world_(std::move(world)) {}

  [[nodiscard]] std::string library() const override { return "threads"; }
  void abort(int) noexcept override { world_->leave(); }

 protected:
  void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) override {
    exchange(in, [&] {
      if (!result_ || result_bytes_ < count * bytes_of(dtype)) {
        result_bytes_ = count * bytes_of(dtype);
        result_ = allocate_bytes(result_bytes_);
      }
      reduce(result_.get(), 0, count, dtype, how);
    });
    copy(out, result_.get(), count * bytes_of(dtype));
  }

  /// A pending sum. It is computed at finish, from a copy of the input, because the caller may reuse the input at once.
  struct DeferredAllReduce final : PendingAllReduce {
    std::shared_ptr<std::byte> in;
    std::byte* out = nullptr;
    std::int64_t count = 0;
    DType dtype = DType::float32;
    Reduction how = Reduction::sum;
  };
  std::unique_ptr<PendingAllReduce> do_begin_all_reduce(const std::byte* in, std::byte* out, std::int64_t count,
                                                        DType dtype, Reduction how) override {
    auto begun = std::make_unique<DeferredAllReduce>();
    begun->in = allocate_bytes(count * bytes_of(dtype));
    copy(begun->in.get(), in, count * bytes_of(dtype));
    begun->out = out;
    begun->count = count;
    begun->dtype = dtype;
    begun->how = how;
    return begun;
  }
  void do_finish(PendingAllReduce& begun) override {
    const auto& later = static_cast<DeferredAllReduce&>(begun);
    do_all_reduce(later.in.get(), later.out, later.count, later.dtype, later.how);
  }

  void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) override {
    exchange(own, [&] {
      for (int rank = 0; rank < size(); ++rank) {
        const std::int64_t part = bytes[static_cast<std::size_t>(rank)];
        copy(all, world_->of(rank), part);
        all += part;
      }
    });
  }

  void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                         DType dtype) override {
    const std::int64_t from = std::accumulate(counts.begin(), counts.begin() + rank(), std::int64_t{0});
    exchange(all, [&] { reduce(own, from, counts[static_cast<std::size_t>(rank())], dtype, Reduction::sum); });
  }

  void do_shift(std::span<const std::byte> give, std::span<std::byte> take) override {
    exchange(give.data(), [&] {
      copy(take.data(), world_->of((rank() + size() - 1) % size()), static_cast<std::int64_t>(take.size()));
    });
  }

  void do_broadcast(std::span<std::byte> bytes, int root) override {
    exchange(bytes.data(), [&] {
      if (rank() != root) copy(bytes.data(), world_->of(root), static_cast<std::int64_t>(bytes.size()));
    });
  }

  void do_barrier() override {
    exchange(nullptr, [] {});
  }

 private:
  static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  template <typename Read>
  void exchange(const std::byte* given, const Read& read) {
    world_->give(rank(), given);
    meet();
    read();
    meet();
  }

  void meet() {
    if (!world_->meet(deadline()))
      throw Error(ExitCode::no_device, fmt::format("{}: another rank did not arrive", at_work()));
  }

  /// Reduces elements [from, from + count) over all ranks.
  void reduce(std::byte* out, std::int64_t from, std::int64_t count, DType dtype, Reduction how) const {
    for (std::int64_t i = 0; i < count; ++i) {
      double sum = Tensor::load(dtype, world_->of(0), from + i);
      for (int rank = 1; rank < size(); ++rank) {
        const double other = Tensor::load(dtype, world_->of(rank), from + i);
        sum = how == Reduction::sum ? sum + other : (sum != sum || sum > other ? sum : other);
      }
      Tensor::store(dtype, out, i, sum);
    }
  }

  std::shared_ptr<World> world_;
  std::shared_ptr<std::byte> result_;  // a separate buffer, because `out` may alias `in`, which other ranks read
  std::int64_t result_bytes_ = 0;
};

class PricedRank final : public SimulatedRank {
 public:
  PricedRank(int rank, int size, Pricing pricing) : SimulatedRank(rank, size), pricing_(std::move(pricing)) {}

  [[nodiscard]] std::string library() const override { return "simulated"; }
  void abort(int) noexcept override {}
  [[nodiscard]] double virtual_seconds() const override { return clock_; }
  void compute(double seconds) override { clock_ += seconds; }

 protected:
  struct TimedAllReduce final : PendingAllReduce {
    double seconds = 0;
  };
  std::unique_ptr<PendingAllReduce> do_begin_all_reduce(const std::byte* in, std::byte* out, std::int64_t count,
                                                        DType dtype, Reduction) override {
    if (out != in) copy(out, in, count * bytes_of(dtype));
    auto begun = std::make_unique<TimedAllReduce>();
    begun->seconds = sent(Collective::all_reduce, count * bytes_of(dtype));
    return begun;
  }
  void do_finish(PendingAllReduce& begun) override {
    clock_ = std::max(clock_, static_cast<TimedAllReduce&>(begun).seconds);
  }
  void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction) override {
    if (out != in) copy(out, in, count * bytes_of(dtype));
    pass(Collective::all_reduce, count * bytes_of(dtype));
  }
  void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) override {
    std::int64_t whole = 0;
    for (const std::int64_t part : bytes) {
      copy(all + whole, own, std::min(part, bytes[static_cast<std::size_t>(rank())]));
      whole += part;
    }
    pass(Collective::all_gather, whole);
  }
  void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                         DType dtype) override {
    const std::int64_t from = std::accumulate(counts.begin(), counts.begin() + rank(), std::int64_t{0});
    copy(own, all + from * bytes_of(dtype), counts[static_cast<std::size_t>(rank())] * bytes_of(dtype));
    pass(Collective::reduce_scatter, std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) * bytes_of(dtype));
  }
  void do_shift(std::span<const std::byte> give, std::span<std::byte> take) override {
    copy(take.data(), give.data(), static_cast<std::int64_t>(std::min(give.size(), take.size())));
    pass(Collective::shift, static_cast<std::int64_t>(give.size()));
  }
  void do_broadcast(std::span<std::byte> bytes, int) override {
    pass(Collective::broadcast, static_cast<std::int64_t>(bytes.size()));
  }
  void do_barrier() override { pass(Collective::barrier, 0); }
  [[nodiscard]] double now() const override { return clock_; }

 private:
  static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  /// Returns the completion time of a collective: the link transfers one collective at a time.
  double sent(Collective collective, std::int64_t bytes) {
    return link_is_free_at_ = std::max(clock_, link_is_free_at_) + pricing_(collective, bytes);
  }
  void pass(Collective collective, std::int64_t bytes) { clock_ = sent(collective, bytes); }

  Pricing pricing_;
  double clock_ = 0, link_is_free_at_ = 0;
};

}  // namespace

std::shared_ptr<World> make_world(int size) { return std::make_shared<World>(size); }

std::unique_ptr<Communicator> make_simulated(std::shared_ptr<World> world, int rank) {
  return std::make_unique<Simulated>(std::move(world), rank);
}

std::unique_ptr<SimulatedRank> make_simulated_rank(int rank, int size, Pricing pricing) {
  return std::make_unique<PricedRank>(rank, size, std::move(pricing));
}

void run_ranks(int size, const std::function<void(Communicator&)>& body) {
  const auto world = make_world(size);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto communicator = make_simulated(world, rank);
      try {
        body(*communicator);
      } catch (...) {
        {
          // Keeps only the first exception: later failures are consequences of the first rank that left.
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        world->leave();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace attn::communicators
