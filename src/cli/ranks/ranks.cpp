#include "ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

#include "attn/backends/devices.h"
#include "attn/backends/plugin.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/communicators/open.h"

namespace attn::cli {
namespace {

using communicators::Communicator;
using parallel::Kind;

constexpr std::size_t kHash = 64;

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto end = text.find('\0'); end != std::string::npos) text.resize(end);
  return text;
}

/// Gathers the bytes of every rank, in rank order; all ranks have the same number of bytes.
std::vector<std::byte> gather(Communicator& world, std::span<const std::byte> own) {
  std::vector<std::byte> all(own.size() * static_cast<std::size_t>(world.size()));
  const std::vector<std::int64_t> bytes(static_cast<std::size_t>(world.size()), static_cast<std::int64_t>(own.size()));
  world.all_gather(own.data(), all.data(), bytes);
  return all;
}

/// Returns how long a rank waits before it reports a missing rank. Rank 0 reports at once, and its end makes the
/// launcher end the others, so the message appears only once.
std::chrono::milliseconds turn_of(int rank) {
  // The launcher needs this time to see that rank 0 has ended, and to end the others.
  constexpr int kForLauncher = 1000;
  return std::chrono::milliseconds(rank == 0 ? 0 : kForLauncher + std::min(200 * rank, 2000));
}

/// Ends the process if the ranks have not met in time. MPI_Init and MPI_Comm_split wait for all ranks and cannot be
/// canceled.
class StartupDeadline {
 public:
  StartupDeadline(double seconds, int rank, const std::function<void()>& tell)
      : watch_([this, seconds, rank, tell] {
          std::unique_lock lock(mutex_);
          // Limits the wait, because the clock counts nanoseconds in 64 bits.
          constexpr double kMost = 1e6;
          const std::chrono::duration<double> longest(std::min(seconds, kMost));
          if (have_met_.wait_for(lock, longest, [this] { return is_over_; })) return;
          std::this_thread::sleep_for(turn_of(rank));
          tell();
          std::_Exit(static_cast<int>(ExitCode::no_device));
        }) {}
  ~StartupDeadline() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    have_met_.notify_one();
    watch_.join();
  }
  StartupDeadline(const StartupDeadline&) = delete;
  StartupDeadline& operator=(const StartupDeadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable have_met_;
  bool is_over_ = false;
  std::thread watch_;
};

std::unique_ptr<Communicator> open_within(const communicators::Launch& launch, double seconds, const Console& console) {
  const StartupDeadline deadline(seconds, launch.rank, [&] {
    console.error(
        fmt::format("rank {} of {} ({}): not all ranks started within {:.3g} s: one hangs, has exited or is "
                    "unreachable; use --timeout to wait longer",
                    launch.rank, launch.size, communicators::host_name(), seconds));
  });
  try {
    return communicators::open_mpi(launch);
  } catch (const Error&) {  // every rank may fail in the same way
    std::this_thread::sleep_for(turn_of(launch.rank));
    throw;
  }
}

/// Returns the current exception if it is an Error; rethrows others.
Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ExitCode::no_memory, "out of memory"};
  }
}

}  // namespace

namespace {

/// Parses one kind, with or without a number.
std::optional<ParallelWord> parse_kind(std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  ParallelWord out;
  if (equals != std::string::npos) {
    int ranks = 0;
    const char *begin = word.data() + equals + 1, *end = word.data() + word.size();
    const auto [read, error] = std::from_chars(begin, end, ranks);
    constexpr int kMostRanks = 1 << 20;
    if (error != std::errc() || read != end || ranks < 1 || ranks > kMostRanks)
      throw bad_usage("--parallel {}: expected a number of ranks, as in tensor=4", printable(word));
    out.ranks = ranks;
  }
  if (!out.ranks && (name == "none" || name == "files")) return std::nullopt;
  for (const Kind kind : {Kind::data, Kind::tensor, Kind::sequence}) {
    if (parallel::name_of(kind) != name) continue;
    out.kind = kind;
    return out;
  }
  static constexpr std::array<std::string_view, 5> kWords = {"none", "data", "tensor", "sequence", "files"};
  throw bad_usage(
      "--parallel {}: expected none, files, data, tensor, sequence, or one of the last three with a number of ranks, "
      "as in tensor=4{}",
      printable(word), did_you_mean(name, kWords));
}

}  // namespace

std::optional<ParallelWord> parse_parallel(const std::string& word) {
  const std::vector<std::string> parts = split(word, ',');
  if (parts.size() == 1) return parse_kind(word);
  std::optional<ParallelWord> model, rows;
  for (const std::string& part : parts) {
    const std::optional<ParallelWord> one = parse_kind(part);
    auto& place = one && one->kind == Kind::data ? rows : model;
    if (!one || !one->ranks || place || parts.size() > 2)
      throw bad_usage("--parallel {}: expected data and one other kind, each with a number, as in tensor=4,data=2",
                      printable(word));
    place = one;
  }
  model->groups = *rows->ranks;
  constexpr int kMostRanks = 1 << 20;
  if (static_cast<std::int64_t>(*model->ranks) * model->groups > kMostRanks)
    throw bad_usage("--parallel {}: more than {} ranks", printable(word), kMostRanks);
  return model;
}

void add_parallel(Options& options, std::optional<std::string>& word) {
  const OptionGroupGuard group(options, OptionGroup::ranks);
  options.add("--parallel", word, "KIND",
              "parallelism across ranks: data, tensor or sequence; tensor=4 for four ranks");
}

void RanksOptions::declare(Options& options) {
  const OptionGroupGuard group(options, OptionGroup::ranks);
  add_parallel(options, parallel);
  options.add("--communicator", communicator, "NAME", "with --parallel: transport between ranks (default auto)")
      .one_of({"auto", "mpi", "nccl", "self"});
  options.add("--timeout", timeout, "S", "with --parallel: seconds to wait for missing ranks (default 60)")
      .above_zero();
}

std::optional<ParallelWord> RanksOptions::asked() const { return parallel ? parse_parallel(*parallel) : std::nullopt; }

void wait_for_turn() noexcept {
  try {
    std::this_thread::sleep_for(turn_of(communicators::launched().rank));
  } catch (const Error&) {  // a launcher's variable is not a number, so the rank is unknown
  }
}

void expect_one_process(std::string_view way_out) {
  const communicators::Launch launch = communicators::launched();
  if (launch.size > 1)
    throw bad_usage("{} started {} processes, which would all do the same work: {}", launch.launcher, launch.size,
                    way_out);
}

Ranks::Ranks(const RanksOptions& options, const ParallelWord& word, const Console& console)
    : console_(console),
      launch_(communicators::launched()),
      kind_(word.kind),
      count_of_groups_(word.groups),
      communicator_(options.communicator),
      timeout_(options.timeout) {
  const int asked = word.ranks.value_or(1) * word.groups;
  if (word.ranks && asked != launch_.size)
    throw bad_usage("--parallel {}: {} processes were started{}", printable(*options.parallel), launch_.size,
                    launch_.size == 1 ? fmt::format(": mpirun -np {} attn …", asked) : "");
  if (options.communicator == "self" && launch_.size > 1)
    throw bad_usage("--communicator self supports one process, but {} started {}", launch_.launcher, launch_.size);
  const bool alone = options.communicator == "self" || (options.communicator != "mpi" && launch_.size == 1);
  world_ = alone ? communicators::make_self() : open_within(launch_, timeout_, console);
  world_->set_deadline(timeout_);
}

std::string Ranks::device_of(const std::string& device) const {
  if ((device != "cuda" && device != "gpu") || launch_.size == 1) return device;
  const auto gpus = static_cast<int>(backends::find_gpus().gpus.size());
  if (gpus == 0) return device;  // opening the device reports why there is no GPU
  if (communicator_ != "mpi" && launch_.local_rank >= gpus)
    throw Error(ExitCode::no_device,
                fmt::format("{} ranks or more on this machine, but {} GPU{}: use --communicator mpi to share a GPU",
                            launch_.local_rank + 1, gpus, gpus == 1 ? "" : "s"));
  return fmt::format("cuda:{}", launch_.local_rank % gpus);
}

void Ranks::runs_on(const backends::Backend& backend) {
  if (backend.device().starts_with("cuda")) gpu_ = backend.device();
}

/// Connects the ranks by NCCL. All ranks have a GPU, or none has one.
std::optional<Error> Ranks::join_gpus() {
  if (gpu_.empty() && communicator_ == "nccl") return bad_usage("--communicator nccl requires --device cuda");
  if (!gpu_.empty() && count_of_groups_ > 1)
    return bad_usage("ranks on GPUs support one kind of parallelism, not two: --parallel {}", name_of(kind_));
  if (gpu_.empty() || communicator_ == "mpi" || communicator_ == "self" || on_gpus_) return std::nullopt;
  if (communicator_ == "auto" && world_->size() == 1) return std::nullopt;
  std::optional<Error> failed;
  const std::vector<std::string> places = gather_texts(*world_, communicators::host_name() + " " + gpu_);
  for (std::size_t rank = 1; rank < places.size() && !failed; ++rank) {
    const auto same = std::find(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(rank), places[rank]);
    if (same == places.begin() + static_cast<std::ptrdiff_t>(rank)) continue;
    failed =
        Error(ExitCode::no_device, fmt::format("ranks {} and {} share a GPU ({}), but NCCL requires one for each: use "
                                               "--device cuda to give each its own, or --communicator mpi to share",
                                               same - places.begin(), rank, printable(places[rank])));
  }
  if (!failed) {
    std::optional<Error> own;
    try {
      backends::expect_nccl();
    } catch (const Error& error) {
      own = error;
    }
    failed = first_error(own);
  }
  if (failed && communicator_ == "auto") {
    if (speaks()) console_.warn(fmt::format("{}; collectives go through the host", failed->what()));
    return std::nullopt;
  }
  if (failed) return failed;
  world_ = backends::open_nccl(std::move(world_));
  on_gpus_ = true;
  world_->set_deadline(timeout_);
  return std::nullopt;
}

Ranks::Groups Ranks::groups() const {
  const int ranks = world_->size() / count_of_groups_;
  return {count_of_groups_, world_->rank() / ranks, world_->rank() % ranks, ranks};
}

void Ranks::form_groups() {
  if (outer_) return;
  if (count_of_groups_ == 1 || world_->size() == 1) {
    outer_ = communicators::make_self();
    return;
  }
  const Groups own = groups();
  const StartupDeadline deadline(timeout_, world_->rank(), [this] {
    console_.error(
        fmt::format("{}: not all ranks formed groups within {:.3g} s: one hangs, has exited or is unreachable; use "
                    "--timeout to wait longer",
                    own_name(), timeout_));
    // The process ends without a call to MPI, because the rank's main thread is inside one. The launcher ends the other
    // ranks.
  });
  inner_ = communicators::split_mpi(launch_, own.group);
  outer_ = communicators::split_mpi(launch_, own.rank);
  inner_->set_deadline(timeout_);
  outer_->set_deadline(timeout_);
}

communicators::Counts Ranks::counts() {
  communicators::Counts all = group().counts();
  for (const auto& [collective, count] : across().counts()) {
    communicators::Count& sum = all[collective];
    sum.calls += count.calls;
    sum.bytes += count.bytes;
    sum.seconds += count.seconds;
  }
  return all;
}

void Ranks::reset_counts() {
  group().reset_counts();
  across().reset_counts();
}

std::string Ranks::own_name() const {
  return fmt::format("rank {} of {} ({})", world_->rank(), world_->size(), communicators::host_name());
}

std::optional<Error> Ranks::first_error(const std::optional<Error>& own) {
  const std::string text = own ? fmt::format("{}: {}", own_name(), own->what()) : "";
  const std::array<std::int64_t, 2> told = {own ? static_cast<std::int64_t>(own->code()) : 0,
                                            static_cast<std::int64_t>(text.size())};
  const std::vector<std::byte> all = gather(*world_, std::as_bytes(std::span(told)));
  for (int rank = 0; rank < world_->size(); ++rank) {
    std::array<std::int64_t, 2> its{};
    std::memcpy(its.data(), all.data() + static_cast<std::size_t>(rank) * sizeof its, sizeof its);
    if (its[0] == 0) continue;
    std::string sentence(static_cast<std::size_t>(its[1]), ' ');
    if (rank == world_->rank()) sentence = text;
    world_->broadcast(std::as_writable_bytes(std::span(sentence)), rank);
    return Error(static_cast<ExitCode>(its[0]), sentence);
  }
  return std::nullopt;
}

std::optional<Error> Ranks::difference(std::span<const Fingerprint> fingerprints) {
  std::string own;
  for (const Fingerprint& fingerprint : fingerprints)
    own += fingerprint.hash.substr(0, kHash) + std::string(kHash - std::min(kHash, fingerprint.hash.size()), ' ');
  const std::vector<std::byte> all = gather(*world_, std::as_bytes(std::span(own)));
  for (std::size_t i = 0; i < fingerprints.size(); ++i) {
    for (int rank = 1; rank < world_->size(); ++rank) {
      const std::byte* first = all.data() + i * kHash;
      const std::byte* other = first + static_cast<std::size_t>(rank) * own.size();
      if (std::memcmp(first, other, kHash) == 0) continue;
      return bad_input(
          "rank {} differs from rank 0 in its {}: all ranks need the same files, options and version of attn", rank,
          fingerprints[i].name);
    }
  }
  return std::nullopt;
}

int Ranks::run_on_ranks(const std::function<std::vector<Fingerprint>()>& prepare, const std::function<int()>& work) {
  try {
    std::optional<Error> failed;
    std::vector<Fingerprint> fingerprints;
    try {
      fingerprints = prepare();
    } catch (const Error&) {
      failed = current_error();
    } catch (const std::bad_alloc&) {
      failed = current_error();
    }
    failed = first_error(failed);
    if (!failed) failed = difference(fingerprints);
    if (!failed) failed = join_gpus();
    if (!failed) form_groups();
    if (failed) {
      if (speaks()) console_.error(failed->what());
      return static_cast<int>(failed->code());
    }
    return work();
  } catch (const Stopped&) {
    world_->abort(static_cast<int>(ExitCode::interrupted));
    return static_cast<int>(ExitCode::interrupted);
  } catch (...) {
    const Error error = current_error();
    if (std::string_view(error.field()) == "timeout") std::this_thread::sleep_for(turn_of(world_->rank()));
    console_.error(fmt::format("{}: {}", own_name(), error.what()));
    world_->abort(static_cast<int>(error.code()));
    return static_cast<int>(error.code());
  }
}

std::vector<std::string> gather_texts(Communicator& world, const std::string& own) {
  std::array<std::byte, kHash> piece{};
  std::memcpy(piece.data(), own.data(), std::min(own.size(), piece.size() - 1));
  const std::vector<std::byte> all = gather(world, piece);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size()); ++rank)
    texts.push_back(text_of(std::span(all).subspan(rank * kHash, kHash)));
  return texts;
}

std::vector<double> gather_numbers(Communicator& world, double own) {
  const std::vector<std::byte> all = gather(world, std::as_bytes(std::span(&own, 1)));
  std::vector<double> numbers(static_cast<std::size_t>(world.size()));
  std::memcpy(numbers.data(), all.data(), all.size());
  return numbers;
}

}  // namespace attn::cli
