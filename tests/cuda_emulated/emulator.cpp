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
// Stacks begin at different places in a page, so that the threads' frames do not push each other out of the cache.
constexpr std::size_t kStackStep = 832, kStackSpread = 32 * 1024;
constexpr int kNamedBarriers = 16, kWarps = 32;
constexpr std::size_t kMaxSharedBytes = 227 * 1024;  // sm_90

/// Where a fiber, or the scheduler, goes on: what GCC's own setjmp saves, which is a tenth of what the library's does.
using Place = std::array<void*, 5>;

/// A thread of the block. It runs until it waits for a word that still has the value it saw.
struct Fiber {
  Thread thread;
  ucontext_t context{};
  Place resume{};
  std::unique_ptr<std::byte[]> stack;
  bool started = false, done = false;
  bool has_waited = false;  // for the kernel ahead
  const std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
};

struct Barrier {
  int arrived = 0;
  std::uint64_t phase = 0;
};

/// The block that runs now. There is one at a time, on one thread of the operating system.
struct Block {
  const std::function<void()>* kernel = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* current = nullptr;
  int threads = 0, live = 0;
  std::array<Barrier, kNamedBarriers + kWarps> barriers;  // the named ones, then one for each warp
  std::array<std::array<void*, 32>, kWarps> brought;
  bool any_so_far = false, any = false;       // of those that have come to the block's barrier, and had when it opened
  std::deque<std::function<void()>> pending;  // in the background
  std::uint64_t number = 0;                   // over all launches
  std::uint64_t schedule = 0;                 // the order in which what happens at the same time happens
  bool overlaps = false;                      // with the kernel ahead
  std::exception_ptr failure;
  std::vector<std::byte> shared;
  std::byte* shared_start = nullptr;
  std::uint64_t changes = 0;  // so that a wait for ever is told from one for others
  ucontext_t scheduler{};
  Place back{};
};

Block block;

// In functions of their own: a jump may not lead into the function that it is made in.
[[noreturn, gnu::noipa]] void go_to(Place& place) { __builtin_longjmp(place.data(), 1); }

[[gnu::noipa]] void leave() {
  if (__builtin_setjmp(block.current->resume.data()) == 0) go_to(block.back);
}

void complete(Barrier& barrier) {
  if (&barrier == &block.barriers[0]) block.any = std::exchange(block.any_so_far, false);
  barrier.arrived = 0;
  ++barrier.phase;
  ++block.changes;
}

Barrier& barrier_of(int id) {
  if (id < 0 || id >= kNamedBarriers) throw std::runtime_error("there is no such named barrier");
  return block.barriers[static_cast<std::size_t>(id)];
}

// The thread's warp, and the barrier at which it meets.
std::size_t warp() { return static_cast<std::size_t>(self().linear / 32); }
Barrier& warp_barrier() { return block.barriers[kNamedBarriers + warp()]; }

// A thread that has ended no longer counts at the barrier of the whole block.
void end_thread() {
  block.current->done = true;
  --block.live;
  ++block.changes;
  Barrier& all = block.barriers[0];
  if (all.arrived > 0 && all.arrived >= block.live) complete(all);
}

// What a fiber does: it runs its thread of one block after the other. An exception cannot leave the fiber that it was
// thrown in.
void start() {
  for (;;) {
    try {
      (*block.kernel)();
      if (block.overlaps && !block.current->has_waited)
        throw std::runtime_error("a thread of a kernel that overlaps has ended without waiting for the one ahead");
    } catch (...) {
      block.failure = std::current_exception();
    }
    end_thread();
    leave();
  }
}

[[gnu::noipa]] void resume(Fiber& fiber) {
  block.current = &fiber;
  detail::current = &fiber.thread;
  if (__builtin_setjmp(block.back.data()) != 0) return;
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

// Leaves the threads where they are, for good.
[[noreturn]] void give_up(const std::exception_ptr& failure) {
  for (const auto& fiber : block.fibers) fiber->started = false;
  std::rethrow_exception(failure);
}

void do_one_in_background(bool newest) {
  const std::function<void()> work = std::move(newest ? block.pending.back() : block.pending.front());
  if (newest) {
    block.pending.pop_back();
  } else {
    block.pending.pop_front();
  }
  work();
  ++block.changes;
}

void run_block(const Shape& shape, uint3 index) {
  const int threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
  block.threads = block.live = threads;
  block.barriers = {};
  block.any_so_far = false;
  block.pending.clear();
  ++block.number;
  ++block.schedule;
  while (block.fibers.size() < static_cast<std::size_t>(threads)) {
    block.fibers.push_back(std::make_unique<Fiber>());
    block.fibers.back()->stack = std::make_unique<std::byte[]>(kStackBytes);
  }
  // Hardware leaves what was there before; NaN patterns show a read of it.
  std::memset(block.shared_start, 0xFF, shape.shared_bytes);
  for (int i = 0; i < threads; ++i) {
    Fiber& fiber = *block.fibers[static_cast<std::size_t>(i)];
    const unsigned u = static_cast<unsigned>(i);
    fiber.thread = {{u % shape.block.x, u / shape.block.x % shape.block.y, u / (shape.block.x * shape.block.y)},
                    index,
                    shape.block,
                    shape.grid,
                    i};
    fiber.done = fiber.has_waited = false;
    fiber.word = nullptr;
  }
  // Every other block runs its threads from the back, so that an order that hardware does not promise shows.
  const bool backwards = block.schedule % 2 == 1;
  while (block.live > 0) {
    const std::uint64_t before = block.changes;
    bool ran = false;
    for (int i = 0; i < threads; ++i) {
      Fiber& fiber = *block.fibers[static_cast<std::size_t>(backwards ? threads - 1 - i : i)];
      if (fiber.done || !can_go_on(fiber)) continue;
      fiber.word = nullptr;
      resume(fiber);
      if (block.failure) give_up(std::exchange(block.failure, nullptr));
      ran = true;
    }
    if (ran && (before != block.changes || block.live == 0)) continue;
    if (block.pending.empty()) {
      give_up(std::make_exception_ptr(std::runtime_error("the threads of a block wait for each other for ever")));
    }
    do_one_in_background(backwards);
  }
  if (!block.pending.empty()) throw std::runtime_error("a block ended before its copies did");
}

}  // namespace

const Thread* detail::current = nullptr;

std::byte* shared_memory() { return block.shared_start; }

void has_waited() { block.current->has_waited = true; }

void yield() { leave(); }

void wait_while(const std::uint64_t& word, std::uint64_t value) {
  while (word == value) {
    block.current->word = &word;
    block.current->value = value;
    leave();
  }
}

void progress() { ++block.changes; }

void arrive(int id, int count) {
  Barrier& barrier = barrier_of(id);
  ++block.changes;
  if (++barrier.arrived >= (count < 0 ? block.live : count)) complete(barrier);
}

void meet(int id, int count) {
  Barrier& barrier = barrier_of(id);
  const std::uint64_t phase = barrier.phase;
  arrive(id, count);
  wait_while(barrier.phase, phase);
}

int any_of_block(int predicate) {
  block.any_so_far |= predicate != 0;
  meet(0, -1);
  return block.any;
}

std::span<void* const> gather_warp(void* mine) {
  Barrier& barrier = warp_barrier();
  auto& brought = block.brought[warp()];
  brought[static_cast<std::size_t>(self().linear % 32)] = mine;
  ++block.changes;
  if (++barrier.arrived == 32) return brought;
  wait_while(barrier.phase, std::uint64_t{barrier.phase});
  return {};
}

void part_warp() { complete(warp_barrier()); }

void in_background(std::function<void()> work) {
  if (is_eager()) {
    work();
    ++block.changes;
  } else {
    block.pending.push_back(std::move(work));
  }
}

bool is_eager() { return block.schedule / 2 % 2 == 1; }
std::uint64_t block_number() { return block.number; }

void run(const Shape& shape, const std::function<void()>& kernel) {
  static std::uint64_t launches = 0;
  block.schedule = launches++;  // so that a kernel that is run again is run otherwise
  block.kernel = &kernel;
  block.overlaps = shape.overlap;
  block.shared.resize(shape.shared_bytes + 1024);
  const auto address = reinterpret_cast<std::uintptr_t>(block.shared.data());
  block.shared_start = block.shared.data() + (1024 - address % 1024) % 1024;
  for (unsigned z = 0; z < shape.grid.z; ++z) {
    for (unsigned y = 0; y < shape.grid.y; ++y) {
      for (unsigned x = 0; x < shape.grid.x; ++x) run_block(shape, {x, y, z});
    }
  }
}

cudaError_t enqueue(const Shape& shape, cudaStream_t stream, std::function<void()> kernel) {
  const std::size_t threads = std::size_t{shape.block.x} * shape.block.y * shape.block.z;
  if (threads == 0 || threads > 1024 || shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0 ||
      shape.grid.y > 65535 || shape.grid.z > 65535 || shape.shared_bytes > kMaxSharedBytes) {
    return cudaErrorInvalidConfiguration;
  }
  return submit(stream, [shape, kernel = std::move(kernel)] { run(shape, kernel); });
}

}  // namespace attn::simt
