#include "attn/base/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"

namespace attn {
namespace {

/// The 16-bit formats and bool as element types, so that the loops below need no dtype.
struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

/// Calls f with a null pointer of the element type.
template <typename F>
void visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64:
      return f(static_cast<double*>(nullptr));
    case DType::float32:
      return f(static_cast<float*>(nullptr));
    case DType::float16:
      return f(static_cast<Half*>(nullptr));
    case DType::bfloat16:
      return f(static_cast<Bfloat*>(nullptr));
    case DType::int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case DType::int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case DType::int16:
      return f(static_cast<std::int16_t*>(nullptr));
    case DType::int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case DType::uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case DType::uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case DType::uint16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case DType::uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case DType::boolean:
      return f(static_cast<Bool*>(nullptr));
  }
}

template <typename T>
double to_double(T value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return float16_to_float(value.bits);
  } else if constexpr (std::is_same_v<T, Bfloat>) {
    return bfloat16_to_float(value.bits);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return value.byte != 0 ? 1.0 : 0.0;
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
T from_double(double value) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return {double_to_float16(value)};
  } else if constexpr (std::is_same_v<T, Bfloat>) {
    return {double_to_bfloat16(value)};
  } else if constexpr (std::is_same_v<T, Bool>) {
    return {static_cast<std::uint8_t>(value != 0.0 ? 1 : 0)};
  } else if constexpr (std::is_integral_v<T>) {
    // 64-bit limits are not representable in double: max() rounds up to the first value that is too large.
    constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto kHighest = static_cast<double>(std::numeric_limits<T>::max());
    if (value != value) return 0;
    if (value <= kLowest) return std::numeric_limits<T>::min();
    if (value >= kHighest) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

/// Copies 64-bit integers exactly, with saturation; going through double would lose digits.
template <typename From, typename To>
void copy_integers(const std::byte* from, std::byte* to, std::int64_t count) {
  const auto* in = reinterpret_cast<const From*>(from);
  auto* out = reinterpret_cast<To*>(to);
  constexpr auto kHighest = std::numeric_limits<To>::max();
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::in_range<To>(in[i])) {
      out[i] = static_cast<To>(in[i]);
    } else {
      out[i] = in[i] < 0 ? To{0} : kHighest;
    }
  }
}

std::int64_t checked_bytes(DType dtype, const Shape& shape) {
  const auto bytes = checked_mul(shape.size(), bytes_of(dtype));
  if (!bytes) {
    throw Error(ExitCode::no_memory,
                fmt::format("a {} tensor of shape {} does not fit in memory", name_of(dtype), shape.str()));
  }
  return *bytes;
}

}  // namespace

namespace {

/// From this number of bytes on a block is mapped, so that its pages return to the system when it is freed. With malloc
/// they would not, once it has seen one such block freed.
constexpr std::int64_t kPagesFrom = std::int64_t{1} << 20;

/// Pages of this size, if the system provides them, save a large block most of its page faults and TLB misses.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::shared_ptr<std::byte> allocate_pages(std::int64_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t length = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
  const std::size_t slack = length >= kHugePage ? kHugePage : 0;
  void* const mapped = ::mmap(nullptr, length + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* block = static_cast<std::byte*>(mapped);
  if (slack > 0) {
    const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage) % kHugePage;
    if (before > 0) ::munmap(block, before);
    block += before;
    if (before < slack) ::munmap(block + length, slack - before);
#ifdef MADV_HUGEPAGE
    ::madvise(block, length, MADV_HUGEPAGE);
#endif
  }
  return {block, [length](std::byte* data) { ::munmap(data, length); }};
}

}  // namespace

std::shared_ptr<std::byte> allocate_bytes(std::int64_t bytes) {
  const auto refused = [bytes] {
    return Error(ExitCode::no_memory, fmt::format("{} bytes of memory could not be allocated", with_commas(bytes)));
  };
  if (bytes < 0 || bytes > kMaxSize) throw refused();
  if (bytes >= kPagesFrom) {
    std::shared_ptr<std::byte> pages = allocate_pages(bytes);
    if (!pages) throw refused();
    return pages;
  }
  // The slack is needed because calloc aligns only to 16.
  void* const block = std::calloc(static_cast<std::size_t>(bytes) + kAlignment, 1);
  if (block == nullptr) throw refused();
  const std::shared_ptr<void> owner(block, std::free);
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return {owner, static_cast<std::byte*>(block) + (kAlignment - address % kAlignment) % kAlignment};
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(allocate_bytes(checked_bytes(dtype_, shape_))) {
  size_ = shape_.size();
}

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<std::byte> bytes)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(std::move(bytes)) {
  if (checked_bytes(dtype_, shape_) > 0 && !bytes_)
    throw internal_error("a tensor of shape {} got no bytes", shape_.str());
  size_ = shape_.size();
}

double Tensor::load(DType dtype, const std::byte* data, std::int64_t i) noexcept {
  double value = 0.0;
  visit(dtype, [&]<typename T>(T*) { value = to_double(reinterpret_cast<const T*>(data)[i]); });
  return value;
}

void Tensor::store(DType dtype, std::byte* data, std::int64_t i, double value) noexcept {
  visit(dtype, [&]<typename T>(T*) { reinterpret_cast<T*>(data)[i] = from_double<T>(value); });
}

void Tensor::throw_wrong_type() const { throw internal_error("the elements of a tensor are {}", name_of(dtype_)); }

Tensor Tensor::reshaped(Shape shape) const {
  if (shape.size() != size_) {
    throw internal_error("a tensor of shape {} cannot take the shape {}", shape_.str(), shape.str());
  }
  return {dtype_, std::move(shape), bytes_};
}

Tensor Tensor::cast(DType dtype) const {
  Tensor result(dtype, shape_);
  if (dtype == dtype_) {
    if (size_ > 0) std::memcpy(result.data(), data(), static_cast<std::size_t>(bytes()));
    return result;
  }
  if (dtype_ == DType::int64 && dtype == DType::uint64) {
    copy_integers<std::int64_t, std::uint64_t>(data(), result.data(), size_);
    return result;
  }
  if (dtype_ == DType::uint64 && dtype == DType::int64) {
    copy_integers<std::uint64_t, std::int64_t>(data(), result.data(), size_);
    return result;
  }
  // Converts through a block of doubles, so that 13 readers and 13 writers serve all pairs of dtypes.
  std::array<double, 512> block;
  for (std::int64_t first = 0; first < size_; first += static_cast<std::int64_t>(block.size())) {
    const std::int64_t count = std::min(static_cast<std::int64_t>(block.size()), size_ - first);
    visit(dtype_, [&]<typename T>(T*) {
      const T* in = reinterpret_cast<const T*>(data()) + first;
      for (std::int64_t i = 0; i < count; ++i) block[static_cast<std::size_t>(i)] = to_double(in[i]);
    });
    visit(dtype, [&]<typename T>(T*) {
      T* out = reinterpret_cast<T*>(result.data()) + first;
      for (std::int64_t i = 0; i < count; ++i) out[i] = from_double<T>(block[static_cast<std::size_t>(i)]);
    });
  }
  return result;
}

}  // namespace attn
