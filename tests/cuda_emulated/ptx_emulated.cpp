#include "ptx_emulated.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attn/base/dtype.h"

namespace attn::simt {
namespace {

constexpr std::size_t kWarpLanes = 32, kBlockThreads = 1024;

struct Barrier {
  int arrivals = 0;        // arrivals that end a phase
  int missing = 0;         // missing arrivals in this phase
  std::int64_t bytes = 0;  // announced bytes that have not arrived
  std::uint64_t phase = 0;
  std::size_t owner = 0;  // the thread that initialized it
  bool published = false;
};

struct Copy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  bool inside = false;
};

/// The copies of a thread, oldest first: those of each committed group, then the open ones.
struct ThreadCopies {
  std::vector<Copy> copies;
  std::vector<std::size_t> groups;  // number of copies in each group
  std::size_t open = 0;
};

/// A product of one warp's 16 rows of the 64.
struct WarpProduct {
  std::array<Product, kWarpLanes> lanes;
  std::vector<float> before;  // d before this product, if it is the first pending one on it
  int rows = 0;               // the first of the 16
};

struct WarpProducts {
  std::vector<WarpProduct> open;
  std::deque<std::vector<WarpProduct>> groups;
  bool fenced = false;
};

/// The state of the instructions in a cluster.
struct State {
  std::uint64_t cluster = 0;
  std::map<const std::uint64_t*, Barrier> barriers;
  std::vector<ThreadCopies> copies;
  std::vector<WarpProducts> products;
};

State& state() {
  static State the_state;
  if (the_state.cluster != cluster_number()) {
    the_state.cluster = cluster_number();
    the_state.barriers.clear();
    the_state.copies.resize(std::max(the_state.copies.size(), cluster_blocks() * kBlockThreads));
    for (ThreadCopies& thread : the_state.copies) {
      thread.copies.clear();  // keeps the allocation
      thread.groups.clear();
      thread.open = 0;
    }
    the_state.products.assign(cluster_blocks() * kBlockThreads / kWarpLanes, {});
  }
  return the_state;
}

std::size_t thread_of_cluster() { return self().rank * kBlockThreads + static_cast<std::size_t>(self().linear); }
ThreadCopies& copies_of_thread() { return state().copies[thread_of_cluster()]; }
WarpProducts& products_of_warp() { return state().products[thread_of_cluster() / kWarpLanes]; }

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

float number_of(bool bfloat16, std::uint16_t bits) {
  if (bfloat16) return bfloat16_to_float(bits);
  static const std::vector<float> numbers = [] {
    std::vector<float> all(1 << 16);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = float16_to_float(static_cast<std::uint16_t>(i));
    return all;
  }();
  return numbers[bits];
}
float low_of(bool bfloat16, std::uint32_t pair) { return number_of(bfloat16, static_cast<std::uint16_t>(pair)); }
float high_of(bool bfloat16, std::uint32_t pair) { return number_of(bfloat16, static_cast<std::uint16_t>(pair >> 16)); }

/// a (16, 16), distributed over the lanes of a warp as {(g, 2t), (g+8, 2t), (g, 2t+8), (g+8, 2t+8)} and their right
/// neighbors.
struct Rows {
  double a[16][16];
};
void take_fragment(Rows& rows, bool bfloat16, std::size_t lane, const std::uint32_t* a) {
  const std::size_t g = lane / 4, t = lane % 4;
  for (std::size_t i = 0; i < 4; ++i) {
    double* const at = &rows.a[g + i % 2 * 8][2 * t + i / 2 * 8];
    at[0] = low_of(bfloat16, a[i]);
    at[1] = high_of(bfloat16, a[i]);
  }
}

/// Eight columns, distributed over the lanes like the rows of sums.
struct Columns {
  double b[16][8];
};
struct Sums {
  double d[16][8];
};

/// sums += rows · columns. Products of half-precision numbers are exact in double.
[[gnu::target_clones("arch=x86-64-v3", "default")]] void add_product(Sums& sums, const Rows& rows,
                                                                     const Columns& columns) {
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::size_t k = 0; k < 16; ++k) {
      for (std::size_t n = 0; n < 8; ++n) sums.d[r][n] += rows.a[r][k] * columns.b[k][n];
    }
  }
}

Barrier& find(std::uint64_t* barrier) {
  const auto found = state().barriers.find(barrier);
  if (found == state().barriers.end()) fail("a barrier is used before it is initialised");
  return found->second;
}

void pass_if_complete(Barrier& barrier) {
  if (barrier.missing > 0 || barrier.bytes != 0) return;
  barrier.missing = barrier.arrivals;
  ++barrier.phase;
  progress();
}

void finish(const Copy& copy) {
  if (copy.inside) {
    std::memcpy(copy.to, copy.from, copy.bytes);
  } else {
    std::memset(copy.to, 0, copy.bytes);
  }
}

/// An operand in shared memory in rows of 128 bytes, with 16-byte chunks permuted by the 128-byte swizzle.
class Operand {
 public:
  Operand(std::uint64_t descriptor, bool bfloat16)
      : start_((descriptor & 0x3FFF) << 4),
        panels_((descriptor >> 16 & 0x3FFF) << 4),
        groups_((descriptor >> 32 & 0x3FFF) << 4),
        bfloat16_(bfloat16) {
    if (descriptor >> 62 != 1) fail("a matrix descriptor is not for the 128-byte swizzle");
    if ((descriptor >> 49 & 7) != 0 || (start_ >> 7 & 7) != 0) {
      fail("a matrix descriptor starts inside a group of 8 rows");
    }
  }

  /// Row `mn` and column `k` of an operand whose rows are along k.
  [[nodiscard]] float by_rows(std::size_t mn, std::size_t k) const {
    return read(start_ + mn / 8 * groups_ + mn % 8 * 128 + k * 2);
  }
  /// The same for an operand whose rows are along mn.
  [[nodiscard]] float by_columns(std::size_t mn, std::size_t k) const {
    return read(start_ + mn / 64 * panels_ + mn % 64 * 2 + k / 8 * groups_ + k % 8 * 128);
  }

 private:
  [[nodiscard]] float read(std::size_t address) const {
    const std::size_t swizzled = address ^ (address >> 7 & 7) << 4;
    std::uint16_t bits;
    std::memcpy(&bits, shared_memory() + swizzled, sizeof(bits));
    return number_of(bfloat16_, bits);
  }

  std::size_t start_, panels_, groups_;
  bool bfloat16_;
};

void finish(const WarpProduct& product) {
  const Product& first = product.lanes[0];
  const std::size_t columns = static_cast<std::size_t>(first.columns);
  if (!product.before.empty()) {
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
      std::copy_n(product.before.data() + lane * columns / 2, columns / 2, product.lanes[lane].d);
    }
  }
  Rows rows;
  if (first.a != nullptr) {
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
      take_fragment(rows, first.bfloat16, lane, product.lanes[lane].a);
    }
  } else {
    const Operand a(first.a_descriptor, first.bfloat16);
    for (std::size_t r = 0; r < 16; ++r) {
      for (std::size_t k = 0; k < 16; ++k) rows.a[r][k] = a.by_rows(static_cast<std::size_t>(product.rows) + r, k);
    }
  }
  const Operand b(first.b_descriptor, first.bfloat16);
  for (std::size_t panel = 0; panel < columns / 8; ++panel) {
    Columns eight;
    for (std::size_t n = 0; n < 8; ++n) {
      for (std::size_t k = 0; k < 16; ++k)
        eight.b[k][n] = first.transposed ? b.by_columns(panel * 8 + n, k) : b.by_rows(panel * 8 + n, k);
    }
    const auto d = [&](std::size_t r, std::size_t n) -> float& {
      return product.lanes[r % 8 * 4 + n / 2].d[panel * 4 + r / 8 * 2 + n % 2];
    };
    Sums sums{};
    if (first.accumulate) {
      for (std::size_t r = 0; r < 16; ++r) {
        for (std::size_t n = 0; n < 8; ++n) sums.d[r][n] = d(r, n);
      }
    }
    add_product(sums, rows, eight);
    for (std::size_t r = 0; r < 16; ++r) {
      for (std::size_t n = 0; n < 8; ++n) d(r, n) = static_cast<float>(sums.d[r][n]);
    }
  }
}

bool is_under_way(const WarpProducts& products, const float* d) {
  const auto writes = [d](const WarpProduct& product) { return product.lanes[0].d == d; };
  return std::ranges::any_of(products.open, writes) ||
         std::ranges::any_of(products.groups, [&](const auto& group) { return std::ranges::any_of(group, writes); });
}

/// The emulated tensor map, stored in CUDA's opaque one.
struct Map {
  const std::byte* data;
  std::uint64_t sizes[4];
  std::uint64_t strides[4];  // in bytes; the first is the element's width
  std::uint32_t box[4];
  std::uint64_t mark;
};
constexpr std::uint64_t kMark = 0x6E61'6D61'7032'1A5CU;
static_assert(sizeof(Map) <= sizeof(CUtensorMap));

void fill_box(std::byte* shared, std::size_t to, const Map& map, const std::array<int, 4>& corner) {
  const std::size_t width = static_cast<std::size_t>(map.strides[0]);
  std::size_t address = to;
  for (std::uint32_t i3 = 0; i3 < map.box[3]; ++i3) {
    for (std::uint32_t i2 = 0; i2 < map.box[2]; ++i2) {
      for (std::uint32_t i1 = 0; i1 < map.box[1]; ++i1) {
        for (std::uint32_t i0 = 0; i0 < map.box[0]; ++i0, address += width) {
          const std::int64_t at[4] = {corner[0] + std::int64_t{i0}, corner[1] + std::int64_t{i1},
                                      corner[2] + std::int64_t{i2}, corner[3] + std::int64_t{i3}};
          bool inside = true;
          std::int64_t offset = 0;
          for (int axis = 0; axis < 4; ++axis) {
            inside = inside && at[axis] >= 0 && at[axis] < static_cast<std::int64_t>(map.sizes[axis]);
            offset += at[axis] * static_cast<std::int64_t>(map.strides[axis]);
          }
          std::byte* const cell = shared + (address ^ (address >> 7 & 7) << 4);
          if (inside) {
            std::memcpy(cell, map.data + offset, width);
          } else {
            std::memset(cell, 0, width);
          }
        }
      }
    }
  }
}

}  // namespace

std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(address) - shared_memory());
}

float exp2(float x) {
  const float y = std::exp2(x);
  return y < std::numeric_limits<float>::min() ? 0.0F : y;
}

void multiply_add(bool bfloat16, float* d, const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1) {
  struct Brought {
    float* d;
    const std::uint32_t* a;
    std::uint32_t b[2];
  } brought{d, a, {b0, b1}};
  together(brought, [bfloat16](std::array<Brought*, 32>& all) {
    Rows rows;
    Columns columns;
    Sums sums;
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
      take_fragment(rows, bfloat16, lane, all[lane]->a);
      const std::size_t g = lane / 4, t = lane % 4;
      for (std::size_t i = 0; i < 2; ++i) {
        columns.b[2 * t + 8 * i][g] = low_of(bfloat16, all[lane]->b[i]);
        columns.b[2 * t + 8 * i + 1][g] = high_of(bfloat16, all[lane]->b[i]);
      }
      for (std::size_t i = 0; i < 4; ++i) sums.d[g + i / 2 * 8][2 * t + i % 2] = all[lane]->d[i];
    }
    add_product(sums, rows, columns);
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
      for (std::size_t i = 0; i < 4; ++i)
        all[lane]->d[i] = static_cast<float>(sums.d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
    }
  });
}

void load_matrices(std::uint32_t* r, std::uint32_t row, bool transposed) {
  if (row % 16 != 0) fail("a row of ldmatrix is not aligned to 16 bytes");
  struct Brought {
    std::uint32_t* r;
    const std::byte* row;
  } brought{r, shared_memory() + row};
  together(brought, [transposed](std::array<Brought*, 32>& all) {
    for (std::size_t matrix = 0; matrix < 4; ++matrix) {
      std::uint16_t cells[8][8];
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(cells[i], all[matrix * 8 + i]->row, sizeof(cells[i]));
      for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
        const std::size_t g = lane / 4, t = lane % 4;
        const std::uint32_t low = transposed ? cells[2 * t][g] : cells[g][2 * t];
        const std::uint32_t high = transposed ? cells[2 * t + 1][g] : cells[g][2 * t + 1];
        all[lane]->r[matrix] = low | high << 16;
      }
    }
  });
}

void copy_async(std::uint32_t shared, const void* global, int bytes, bool inside) {
  const Copy copy{shared_memory() + shared, static_cast<const std::byte*>(global), static_cast<std::size_t>(bytes),
                  inside};
  if (shared % copy.bytes != 0 || (inside && reinterpret_cast<std::uintptr_t>(global) % copy.bytes != 0)) {
    fail("an asynchronous copy is not aligned");
  }
  if (is_eager()) {
    finish(copy);
  } else {
    std::memset(copy.to, 0xFF, copy.bytes);
    ThreadCopies& mine = copies_of_thread();
    mine.copies.push_back(copy);
    ++mine.open;
  }
}

void commit_copies() {
  ThreadCopies& mine = copies_of_thread();
  mine.groups.push_back(std::exchange(mine.open, 0));
}

void wait_copies(int groups) {
  ThreadCopies& mine = copies_of_thread();
  if (mine.groups.size() <= static_cast<std::size_t>(groups)) return;
  const auto last = mine.groups.end() - groups;
  const auto end = mine.copies.begin() + std::accumulate(mine.groups.begin(), last, std::ptrdiff_t{0});
  std::for_each(mine.copies.begin(), end, [](const Copy& copy) { finish(copy); });
  mine.copies.erase(mine.copies.begin(), end);
  mine.groups.erase(mine.groups.begin(), last);
}

void init_barrier(std::uint64_t* barrier, int arrivals) {
  if (reinterpret_cast<std::uintptr_t>(barrier) % 8 != 0) fail("a barrier is not aligned to 8 bytes");
  state().barriers[barrier] = {arrivals, arrivals, 0, 0, thread_of_cluster(), false};
}

void publish_barriers() {
  for (auto& [address, barrier] : state().barriers) barrier.published |= barrier.owner == thread_of_cluster();
}

void arrive_at(std::uint64_t* barrier, int bytes) {
  Barrier& found = find(barrier);
  if (found.missing == 0) fail("more threads arrive at a barrier than it counts");
  found.bytes += bytes;
  --found.missing;
  pass_if_complete(found);
}

void wait_barrier(std::uint64_t* barrier, std::uint32_t parity) {
  const Barrier& found = find(barrier);
  while (found.phase % 2 == parity) wait_while(found.phase, std::uint64_t{found.phase});
}

void load_box(void* shared, const CUtensorMap* map, std::uint64_t* barrier, const int (&corner)[4], unsigned blocks) {
  Map decoded;
  std::memcpy(&decoded, map, sizeof(decoded));
  if (decoded.mark != kMark) fail("TMA is given no tensor map");
  const std::size_t to = shared_address(shared);
  if (to % 128 != 0) fail("TMA's destination is not aligned to 128 bytes");
  const std::size_t bytes =
      std::size_t{decoded.box[0]} * decoded.box[1] * decoded.box[2] * decoded.box[3] * decoded.strides[0];
  const std::array<int, 4> start = {corner[0], corner[1], corner[2], corner[3]};
  const unsigned first = blocks == 0 ? self().rank : 0, last = blocks == 0 ? first + 1 : blocks;
  for (unsigned rank = first; rank < last; ++rank) {
    std::byte* const memory = of_block(shared_memory(), rank);
    auto* const its = reinterpret_cast<std::uint64_t*>(of_block(barrier, rank));
    if (!find(its).published) fail("TMA is given a barrier that was not published to it");
    std::memset(memory + to, 0xFF, bytes);
    in_background([=] {
      fill_box(memory, to, decoded, start);
      Barrier& found = find(its);
      found.bytes -= static_cast<std::int64_t>(bytes);
      pass_if_complete(found);
    });
  }
}

void fence_products() {
  int nothing = 0;
  together(nothing, [](auto&) { products_of_warp().fenced = true; });
}

void begin_product(const Product& product) {
  Product mine = product;
  together(mine, [](std::array<Product*, 32>& all) {
    WarpProducts& products = products_of_warp();
    if (!products.fenced) fail("a product begins without a fence after its registers were touched");
    WarpProduct whole;
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) whole.lanes[lane] = *all[lane];
    whole.rows = self().linear / 32 % 4 * 16;
    if (is_eager()) {
      finish(whole);
      return;
    }
    const std::size_t registers = static_cast<std::size_t>(whole.lanes[0].columns) / 2;
    if (!is_under_way(products, whole.lanes[0].d)) {
      for (const Product& lane : whole.lanes) {
        whole.before.insert(whole.before.end(), lane.d, lane.d + registers);
        std::fill_n(lane.d, registers, std::numeric_limits<float>::quiet_NaN());
      }
    }
    products.open.push_back(std::move(whole));
  });
}

void commit_products() {
  int nothing = 0;
  together(nothing, [](auto&) {
    WarpProducts& products = products_of_warp();
    products.groups.push_back(std::exchange(products.open, {}));
  });
}

void wait_products(int groups) {
  int nothing = 0;
  together(nothing, [groups](auto&) {
    WarpProducts& products = products_of_warp();
    while (products.groups.size() > static_cast<std::size_t>(groups)) {
      for (const WarpProduct& product : products.groups.front()) finish(product);
      products.groups.pop_front();
    }
    products.fenced = false;
  });
}

namespace {

// Rejects what the documentation in cuda.h rejects, within load_box's features: four axes, the 128-byte swizzle.
CUresult encode_tiled(CUtensorMap* result, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  if (reinterpret_cast<std::uintptr_t>(result) % 64 != 0 || reinterpret_cast<std::uintptr_t>(address) % 16 != 0 ||
      (type != CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type != CU_TENSOR_MAP_DATA_TYPE_BFLOAT16) || rank != 4 ||
      interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle != CU_TENSOR_MAP_SWIZZLE_128B ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || box[0] * 2 % 16 != 0 || box[0] * 2 > 128) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Map map{static_cast<const std::byte*>(address), {}, {2}, {}, kMark};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (sizes[axis] == 0 || sizes[axis] > std::uint64_t{1} << 32 || box[axis] == 0 || box[axis] > 256 ||
        steps[axis] != 1) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    map.sizes[axis] = sizes[axis];
    map.box[axis] = box[axis];
    if (axis == 0) continue;
    if (strides[axis - 1] % 16 != 0 || strides[axis - 1] >= std::uint64_t{1} << 40) return CUDA_ERROR_INVALID_VALUE;
    map.strides[axis] = strides[axis - 1];
  }
  std::memset(result, 0, sizeof(*result));
  std::memcpy(result, &map, sizeof(map));
  return CUDA_SUCCESS;
}

}  // namespace

}  // namespace attn::simt

// NOLINTNEXTLINE: the name is CUDA's.
extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                        unsigned long long, cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = known ? reinterpret_cast<void*>(attn::simt::encode_tiled) : nullptr;
  if (found != nullptr) *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
