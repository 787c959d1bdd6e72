#include "attn/communicators/communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "attn/base/text.h"

namespace attn::communicators {
namespace {

std::int64_t sum_of(std::span<const std::int64_t> parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

class Self final : public Communicator {
 public:
  Self() : Communicator(0, 1) {}
  [[nodiscard]] std::string library() const override { return "none"; }
  void abort(int code) noexcept override { std::_Exit(code); }

 protected:
  void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction) override {
    copy(out, in, count * bytes_of(dtype));
  }
  void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) override {
    copy(all, own, sum_of(bytes));
  }
  void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                         DType dtype) override {
    copy(own, all, sum_of(counts) * bytes_of(dtype));
  }
  void do_shift(std::span<const std::byte> give, std::span<std::byte> take) override {
    copy(take.data(), give.data(), static_cast<std::int64_t>(take.size()));
  }
  void do_broadcast(std::span<std::byte>, int) override {}
  void do_barrier() override {}
};

}  // namespace

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::shift:
      return "shift";
    case Collective::broadcast:
      return "broadcast";
    case Collective::barrier:
      break;
  }
  return "barrier";
}

double Communicator::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Body>
void Communicator::counted(Collective collective, std::int64_t bytes, const Body& body) {
  current_ = {collective, ++number_, bytes, what_};
  const double from = now();
  body();
  Count& count = counts_[collective];
  ++count.calls;
  count.bytes += bytes;
  count.seconds += now() - from;
  what_ = {};
}

void Communicator::all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype, Reduction how) {
  counted(Collective::all_reduce, count * bytes_of(dtype), [&] { do_all_reduce(in, out, count, dtype, how); });
}

std::int64_t Communicator::begin_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                                            Reduction how) {
  counted(Collective::all_reduce, count * bytes_of(dtype), [&] {
    if (auto begun = do_begin_all_reduce(in, out, count, dtype, how)) begun_[number_] = {current_, std::move(begun)};
  });
  return number_;
}

void Communicator::progress() {
  for (const auto& [number, open] : begun_) do_progress(*open.begun);
}

void Communicator::finish(std::int64_t begun) {
  const auto found = begun_.find(begun);
  if (found == begun_.end()) return;
  current_ = found->second.work;
  const double from = now();
  do_finish(*found->second.begun);
  counts_[current_.collective].seconds += now() - from;
  begun_.erase(begun);
}

std::unique_ptr<Communicator::PendingAllReduce> Communicator::do_begin_all_reduce(const std::byte* in, std::byte* out,
                                                                                  std::int64_t count, DType dtype,
                                                                                  Reduction how) {
  do_all_reduce(in, out, count, dtype, how);
  return nullptr;
}

void Communicator::all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) {
  counted(Collective::all_gather, sum_of(bytes), [&] { do_all_gather(own, all, bytes); });
}

void Communicator::reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                                  DType dtype) {
  counted(Collective::reduce_scatter, sum_of(counts) * bytes_of(dtype),
          [&] { do_reduce_scatter(all, own, counts, dtype); });
}

void Communicator::shift(std::span<const std::byte> give, std::span<std::byte> take) {
  counted(Collective::shift, static_cast<std::int64_t>(give.size()), [&] { do_shift(give, take); });
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) {
  counted(Collective::broadcast, static_cast<std::int64_t>(bytes.size()), [&] { do_broadcast(bytes, root); });
}

void Communicator::barrier() {
  counted(Collective::barrier, 0, [&] { do_barrier(); });
}

std::string Communicator::at_work() const {
  std::string text = fmt::format("collective {}, {}", current_.number, name_of(current_.collective));
  if (current_.bytes > 0) text += fmt::format(" ({} bytes)", with_commas(current_.bytes));
  if (!current_.what.empty()) text += fmt::format(" for layer '{}'", printable(current_.what));
  return text;
}

std::unique_ptr<Communicator> make_self() { return std::make_unique<Self>(); }

}  // namespace attn::communicators
