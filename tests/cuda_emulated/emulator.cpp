#include "emulator.h"

#include <ucontext.h>

#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime.h"

namespace attn::simt {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
// Stacks begin at different offsets in a page, so that the threads' frames do not conflict in the cache.
constexpr std::size_t kStackStep = 832, kStackSpread = 32 * 1024;
constexpr int kNamedBarriers = 16, kWarps = 32;
constexpr std::size_t kMaxSharedBytes = 227 * 1024;  // sm_90

/// The saved context of a fiber or the scheduler, by GCC's builtin setjmp, which takes a tenth of the library's time.
using Place = std::array<void*, 5>;

struct Block;

/// A thread of a block. It runs until it waits for a word that still has its old value.
struct Fiber {
  Thread thread;
  Block* block = nullptr;
  ucontext_t context{};
  Place resume{};
  std::unique_ptr<std::byte[]> stack;
  bool started = false, done = false;
  bool has_waited = false;  // for the previous kernel
  const std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
};

struct Barrier {
  int arrived = 0;
  std::uint64_t phase = 0;
};

/// A block of the running cluster.
struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  int threads = 0, live = 0;
  std::array<Barrier, kNamedBarriers + kWarps> barriers;  // the named ones, then one for each warp
  std::array<std::array<void*, 32>, kWarps> brought;
  bool any_so_far = false, any = false;  // over the threads that have arrived at the block's barrier; and
                                         // the value when it last opened
  std::vector<std::byte> shared;
  std::byte* shared_start = nullptr;
};

/// The running cluster. There is one at a time, on one thread of the operating system.
struct Cluster {
  const std::function<void()>* kernel = nullptr;
  std::vector<std::unique_ptr<Block>> blocks;  // the blocks of the largest cluster so far
  std::size_t size = 1;                        // blocks of this cluster
  Fiber* current = nullptr;
  Barrier barrier;
  std::deque<std::function<void()>> pending;  // in the background
  std::uint64_t number = 0;                   // over all launches
  std::uint64_t schedule = 0;                 // the interleaving of concurrent work
  std::exception_ptr failure;
  std::uint64_t changes = 0;  // distinguishes a deadlock from a wait for others
  Place back{};
};

Cluster cluster;

Block& block() { return *cluster.current->block; }

// In separate functions: a jump must not lead into the function that makes it.
[[noreturn, gnu::noipa]] void go_to(Place& place) { __builtin_longjmp(place.data(), 1); }

[[gnu::noipa]] void leave() {
  if (__builtin_setjmp(cluster.current->resume.data()) == 0) go_to(cluster.back);
}

void complete(Barrier& barrier) {
  Block& here = block();
  if (&barrier == &here.barriers[0]) here.any = std::exchange(here.any_so_far, false);
  barrier.arrived = 0;
  ++barrier.phase;
  ++cluster.changes;
}

Barrier& barrier_of(int id) {
  if (id < 0 || id >= kNamedBarriers) throw std::runtime_error("there is no such named barrier");
  return block().barriers[static_cast<std::size_t>(id)];
}

// The thread's warp, and its barrier.
std::size_t warp() { return static_cast<std::size_t>(self().linear / 32); }
Barrier& warp_barrier() { return block().barriers[kNamedBarriers + warp()]; }

// A thread that has ended no longer counts at the block's barrier.
void end_thread() {
  Block& here = block();
  cluster.current->done = true;
  --here.live;
  ++cluster.changes;
  Barrier& all = here.barriers[0];
  if (all.arrived > 0 && all.arrived >= here.live) complete(all);
  // Another block may now use the shared memory.
  if (here.live == 0 && cluster.size > 1) std::memset(here.shared_start, 0xFF, here.shared.size() - 1024);
}

// The body of a fiber: runs its thread of one block after the other. An exception cannot leave the fiber that it was
// thrown in.
void start() {
  for (;;) {
    try {
      (*cluster.kernel)();
      if (!cluster.current->has_waited)
        throw std::runtime_error("a thread of a kernel has ended without waiting for the kernel ahead");
    } catch (...) {
      cluster.failure = std::current_exception();
    }
    end_thread();
    leave();
  }
}

[[gnu::noipa]] void resume(Fiber& fiber) {
  cluster.current = &fiber;
  detail::current = &fiber.thread;
  if (__builtin_setjmp(cluster.back.data()) != 0) return;
  if (fiber.started) go_to(fiber.resume);
  fiber.started = true;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size =
      kStackBytes - static_cast<std::size_t>(fiber.thread.linear) * kStackStep % kStackSpread;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, start, 0);
  setcontext(&fiber.context);
}

bool can_go_on(const Fiber& fiber) { return fiber.word == nullptr || *fiber.word != fiber.value; }

// Abandons the threads for good.
[[noreturn]] void give_up(const std::exception_ptr& failure) {
  for (const auto& any : cluster.blocks) {
    for (const auto& fiber : any->fibers) fiber->started = false;
  }
  std::rethrow_exception(failure);
}

void do_one_in_background(bool newest) {
  const std::function<void()> work = std::move(newest ? cluster.pending.back() : cluster.pending.front());
  if (newest) {
    cluster.pending.pop_back();
  } else {
    cluster.pending.pop_front();
  }
  work();
  ++cluster.changes;
}

void prepare(Block& here, const Shape& shape, uint3 index, unsigned rank) {
  const int threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
  here.threads = here.live = threads;
  here.barriers = {};
  here.any_so_far = false;
  here.shared.resize(shape.shared_bytes + 1024);
  const auto address = reinterpret_cast<std::uintptr_t>(here.shared.data());
  here.shared_start = here.shared.data() + (1024 - address % 1024) % 1024;
  // Hardware leaves previous contents; NaN patterns reveal a read of uninitialized memory.
  std::memset(here.shared_start, 0xFF, shape.shared_bytes);
  while (here.fibers.size() < static_cast<std::size_t>(threads)) {
    here.fibers.push_back(std::make_unique<Fiber>());
    here.fibers.back()->stack = std::make_unique<std::byte[]>(kStackBytes);
  }
  for (int i = 0; i < threads; ++i) {
    Fiber& fiber = *here.fibers[static_cast<std::size_t>(i)];
    const unsigned u = static_cast<unsigned>(i);
    fiber.thread = {{u % shape.block.x, u / shape.block.x % shape.block.y, u / (shape.block.x * shape.block.y)},
                    index,
                    shape.block,
                    shape.grid,
                    i,
                    rank};
    fiber.block = &here;
    fiber.done = fiber.has_waited = false;
    fiber.word = nullptr;
  }
}

/// Runs the blocks from `index` on along x.
void run_cluster(const Shape& shape, uint3 index) {
  cluster.size = shape.cluster;
  cluster.barrier = {};
  cluster.pending.clear();
  ++cluster.number;
  ++cluster.schedule;
  while (cluster.blocks.size() < cluster.size) cluster.blocks.push_back(std::make_unique<Block>());
  for (unsigned rank = 0; rank < shape.cluster; ++rank) {
    prepare(*cluster.blocks[rank], shape, {index.x + rank, index.y, index.z}, rank);
  }
  const auto threads = static_cast<std::size_t>(cluster.blocks[0]->threads), all = cluster.size * threads;
  // Every other cluster runs its threads in reverse, to reveal reliance on an order that hardware does not promise.
  const bool backwards = cluster.schedule % 2 == 1;
  // In four of eight clusters a block begins only when the earlier ones cannot continue without it.
  std::size_t live = all, begun = cluster.schedule / 4 % 2 == 1 ? threads : all;
  while (live > 0) {
    const std::uint64_t before = cluster.changes;
    bool ran = false;
    for (std::size_t n = 0; n < begun; ++n) {
      const std::size_t i = backwards ? all - 1 - n : n;
      Fiber& fiber = *cluster.blocks[i / threads]->fibers[i % threads];
      if (fiber.done || !can_go_on(fiber)) continue;
      fiber.word = nullptr;
      resume(fiber);
      if (cluster.failure) give_up(std::exchange(cluster.failure, nullptr));
      if (fiber.done) --live;
      ran = true;
    }
    if (ran && (before != cluster.changes || live == 0)) continue;
    if (begun < all) {
      begun += threads;
      continue;
    }
    if (cluster.pending.empty()) {
      give_up(std::make_exception_ptr(std::runtime_error("the threads of a block wait for each other for ever")));
    }
    do_one_in_background(backwards);
  }
  if (!cluster.pending.empty()) throw std::runtime_error("a block ended before its copies did");
}

}  // namespace

const Thread* detail::current = nullptr;

std::byte* shared_memory() { return block().shared_start; }

void has_waited() { cluster.current->has_waited = true; }

void yield() { leave(); }

void wait_while(const std::uint64_t& word, std::uint64_t value) {
  while (word == value) {
    cluster.current->word = &word;
    cluster.current->value = value;
    leave();
  }
}

void progress() { ++cluster.changes; }

void arrive(int id, int count) {
  Barrier& barrier = barrier_of(id);
  ++cluster.changes;
  if (++barrier.arrived >= (count < 0 ? block().live : count)) complete(barrier);
}

void meet(int id, int count) {
  Barrier& barrier = barrier_of(id);
  const std::uint64_t phase = barrier.phase;
  arrive(id, count);
  wait_while(barrier.phase, phase);
}

void meet_cluster() {
  Barrier& barrier = cluster.barrier;
  const std::uint64_t phase = barrier.phase;
  ++cluster.changes;
  for (std::size_t i = 0; i < cluster.size; ++i) {
    if (cluster.blocks[i]->live < cluster.blocks[i]->threads)
      throw std::runtime_error("a thread of a cluster that meets has ended");
  }
  if (++barrier.arrived == static_cast<int>(cluster.size) * block().threads) complete(barrier);
  wait_while(barrier.phase, phase);
}

std::byte* of_block(const void* here, unsigned rank) {
  if (rank >= cluster.size) throw std::runtime_error("the cluster has no such block");
  const Block& other = *cluster.blocks[rank];
  if (other.live == 0) throw std::runtime_error("the shared memory of a block that has ended is asked for");
  return other.shared_start + (static_cast<const std::byte*>(here) - block().shared_start);
}

int any_of_block(int predicate) {
  block().any_so_far |= predicate != 0;
  meet(0, -1);
  return block().any;
}

std::span<void* const> gather_warp(void* mine) {
  Barrier& barrier = warp_barrier();
  auto& brought = block().brought[warp()];
  brought[static_cast<std::size_t>(self().linear % 32)] = mine;
  ++cluster.changes;
  if (++barrier.arrived == 32) return brought;
  wait_while(barrier.phase, std::uint64_t{barrier.phase});
  return {};
}

void part_warp() { complete(warp_barrier()); }

void in_background(std::function<void()> work) {
  if (is_eager()) {
    work();
    ++cluster.changes;
  } else {
    cluster.pending.push_back(std::move(work));
  }
}

bool is_eager() { return cluster.schedule / 2 % 2 == 1; }
unsigned machine_cluster() { return machine().cluster; }
std::uint64_t cluster_number() { return cluster.number; }
std::size_t cluster_blocks() { return cluster.size; }

void run(const Shape& shape, const std::function<void()>& kernel) {
  static std::uint64_t launches = 0;
  cluster.schedule = launches++;  // another interleaving for each launch
  cluster.kernel = &kernel;
  for (unsigned z = 0; z < shape.grid.z; ++z) {
    for (unsigned y = 0; y < shape.grid.y; ++y) {
      for (unsigned x = 0; x < shape.grid.x; x += shape.cluster) run_cluster(shape, {x, y, z});
    }
  }
}

cudaError_t enqueue(const Shape& shape, cudaStream_t stream, std::function<void()> kernel) {
  const std::size_t threads = std::size_t{shape.block.x} * shape.block.y * shape.block.z;
  if (threads == 0 || threads > 1024 || shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0 ||
      shape.grid.y > 65535 || shape.grid.z > 65535 || shape.shared_bytes > kMaxSharedBytes || shape.cluster == 0 ||
      shape.cluster > machine_cluster() || shape.grid.x % shape.cluster != 0) {
    return cudaErrorInvalidConfiguration;
  }
  return submit(
      stream, [shape, kernel = std::move(kernel)] { run(shape, kernel); }, true);
}

}  // namespace attn::simt
