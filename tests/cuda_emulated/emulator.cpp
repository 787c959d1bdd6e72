#include "emulator.h"

#include <setjmp.h>
#include <ucontext.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime.h"

namespace attn::simt {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr int kNamedBarriers = 16, kWarps = 32, kWarpgroups = 8;
constexpr std::size_t kMaxSharedBytes = 227 * 1024;  // sm_90

/// A thread of the block. It runs until it waits for a word that still has the value it saw.
struct Fiber {
  Thread thread;
  ucontext_t context{};
  sigjmp_buf resume{};
  std::unique_ptr<std::byte[]> stack;
  bool started = false, done = false;
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
  std::map<int, Barrier> barriers;
  std::vector<std::vector<const std::byte*>> brought;  // by meeting place
  std::vector<std::byte> shared;
  std::byte* shared_start = nullptr;
  std::uint64_t changes = 0;  // so that a wait for ever is told from one for others
  ucontext_t scheduler{};
  sigjmp_buf back{};
};

Block block;

void leave() {
  if (sigsetjmp(block.current->resume, 0) == 0) siglongjmp(block.back, 1);
}

void complete(Barrier& barrier) {
  barrier.arrived = 0;
  ++barrier.phase;
  ++block.changes;
}

// A thread that has ended no longer counts at the barrier of the whole block.
void end_thread() {
  block.current->done = true;
  --block.live;
  ++block.changes;
  Barrier& all = block.barriers[0];
  if (all.arrived > 0 && all.arrived >= block.live) complete(all);
}

void start() {
  (*block.kernel)();
  end_thread();
  siglongjmp(block.back, 1);
}

void resume(Fiber& fiber) {
  block.current = &fiber;
  if (sigsetjmp(block.back, 0) != 0) return;
  if (fiber.started) siglongjmp(fiber.resume, 1);
  fiber.started = true;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, start, 0);
  setcontext(&fiber.context);
}

/// The barrier of the warp or warpgroup that the running thread is in.
int place_of(int size) { return kNamedBarriers + (size == 32 ? 0 : kWarps) + self().linear / size; }

bool can_go_on(const Fiber& fiber) { return fiber.word == nullptr || *fiber.word != fiber.value; }

void run_block(const Shape& shape, uint3 index) {
  const int threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
  block.threads = block.live = threads;
  block.barriers.clear();
  block.brought.assign(kWarps + kWarpgroups, {});
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
                    index, shape.block, shape.grid, i};
    fiber.started = fiber.done = false;
    fiber.word = nullptr;
  }
  // Every other block runs its threads from the back, so that an order that hardware does not promise shows.
  const bool backwards = index.x % 2 == 1;
  while (block.live > 0) {
    const std::uint64_t before = block.changes;
    bool ran = false;
    for (int i = 0; i < threads; ++i) {
      Fiber& fiber = *block.fibers[static_cast<std::size_t>(backwards ? threads - 1 - i : i)];
      if (fiber.done || !can_go_on(fiber)) continue;
      fiber.word = nullptr;
      resume(fiber);
      ran = true;
    }
    if (!ran || (before == block.changes && block.live > 0)) {
      throw std::runtime_error("the threads of a block wait for each other for ever");
    }
  }
}

}  // namespace

const Thread& self() { return block.current->thread; }
std::byte* shared_memory() { return block.shared_start; }

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
  Barrier& barrier = block.barriers[id];
  ++block.changes;
  if (++barrier.arrived >= (count < 0 ? block.live : count)) complete(barrier);
}

void meet(int id, int count) {
  Barrier& barrier = block.barriers[id];
  const std::uint64_t phase = barrier.phase;
  arrive(id, count);
  wait_while(barrier.phase, phase);
}

std::span<const std::byte* const> exchange(int size, const void* mine) {
  auto& brought = block.brought[static_cast<std::size_t>(place_of(size) - kNamedBarriers)];
  brought.resize(static_cast<std::size_t>(size), nullptr);
  brought[static_cast<std::size_t>(self().linear % size)] = static_cast<const std::byte*>(mine);
  part(size);
  return brought;
}

void part(int size) { meet(place_of(size), size); }

void run(const Shape& shape, const std::function<void()>& kernel) {
  block.kernel = &kernel;
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
