#include "forked.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/tensor.h"

namespace attn::test {
namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kWords = 1000;

struct Shared {
  pthread_barrier_t barrier;
  std::byte data[kMostRanks][kMostBytes];
  char words[kMostRanks][kWords];
};

class Forked final : public communicators::Communicator {
 public:
  Forked(int rank, int size, Shared& shared) : Communicator(rank, size), shared_(shared) {}
  [[nodiscard]] std::string library() const override { return "forked"; }
  void abort(int code) noexcept override { _exit(code); }

 protected:
  void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                     communicators::Reduction how) override {
    exchange(in, count * bytes_of(dtype), [&] { reduce(out, 0, count, dtype, how); });
  }
  void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) override {
    exchange(own, bytes[static_cast<std::size_t>(rank())], [&] {
      for (std::size_t other = 0; other < bytes.size(); all += bytes[other++])
        std::memcpy(all, shared_.data[other], static_cast<std::size_t>(bytes[other]));
    });
  }
  void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                         DType dtype) override {
    const std::int64_t whole = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const std::int64_t before = std::accumulate(counts.begin(), counts.begin() + rank(), std::int64_t{0});
    exchange(all, whole * bytes_of(dtype), [&] {
      reduce(own, before, counts[static_cast<std::size_t>(rank())], dtype, communicators::Reduction::sum);
    });
  }
  void do_shift(std::span<const std::byte> give, std::span<std::byte> take) override {
    exchange(give.data(), static_cast<std::int64_t>(give.size()),
             [&] { std::memcpy(take.data(), shared_.data[(rank() + size() - 1) % size()], take.size()); });
  }
  void do_broadcast(std::span<std::byte> bytes, int root) override {
    exchange(bytes.data(), rank() == root ? static_cast<std::int64_t>(bytes.size()) : 0,
             [&] { std::memcpy(bytes.data(), shared_.data[root], bytes.size()); });
  }
  void do_barrier() override {
    exchange(nullptr, 0, [] {});
  }

 private:
  template <typename Read>
  void exchange(const std::byte* give, std::int64_t bytes, const Read& read) {
    if (bytes > 0) std::memcpy(shared_.data[rank()], give, static_cast<std::size_t>(bytes));
    pthread_barrier_wait(&shared_.barrier);
    read();
    pthread_barrier_wait(&shared_.barrier);
  }
  void reduce(std::byte* out, std::int64_t from, std::int64_t count, DType dtype, communicators::Reduction how) {
    for (std::int64_t i = 0; i < count; ++i) {
      double sum = Tensor::load(dtype, shared_.data[0], from + i);
      for (int other = 1; other < size(); ++other) {
        const double more = Tensor::load(dtype, shared_.data[other], from + i);
        sum = how == communicators::Reduction::sum ? sum + more : std::max(sum, more);
      }
      Tensor::store(dtype, out, i, sum);
    }
  }

  Shared& shared_;
};

std::string word_of(const RankBody& body, int rank, int ranks, Shared& shared) {
  try {
    return body(std::make_unique<Forked>(rank, ranks, shared));
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string run_forked(int ranks, const RankBody& body) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw internal_error("no memory to share");
  Shared& shared = *static_cast<Shared*>(memory);
  pthread_barrierattr_t across;
  pthread_barrierattr_init(&across);
  pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared.barrier, &across, static_cast<unsigned>(ranks));
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string word = word_of(body, rank, ranks, shared);
      std::strncpy(shared.words[rank], word.c_str(), kWords - 1);
      _exit(0);
    }
    children.push_back(child);
  }
  // A rank that exits is reaped at once, so that others see it as gone.
  std::vector<int> statuses(children.size(), 0);
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    const auto found = std::find(children.begin(), children.end(), child);
    if (found != children.end()) statuses[static_cast<std::size_t>(found - children.begin())] = status;
  }
  std::string told;
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    std::string word = shared.words[rank];
    if (statuses[rank] != 0 && word.empty()) word = fmt::format("ended with status {}", statuses[rank]);
    if (told.empty() && !word.empty()) told = fmt::format("rank {}: {}", rank, word);
  }
  munmap(memory, sizeof(Shared));
  return told;
}

}  // namespace attn::test
