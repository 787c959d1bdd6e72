#include "numbers.h"

#include <algorithm>

#include "attn/base/error.h"

namespace attn::backends::reference {
namespace {

template <typename Element, typename Number>
void read_as(const Tensor& x, std::vector<Number>& numbers) {
  std::ranges::transform(x.as<Element>(), numbers.begin(), [](Element e) { return static_cast<Number>(e); });
}

template <typename Element, typename Number>
void write_as(const Tensor& y, const std::vector<Number>& numbers) {
  std::ranges::transform(numbers, y.as<Element>().begin(), [](Number n) { return static_cast<Element>(n); });
}

}  // namespace

template <typename Number>
std::vector<Number> read(const Tensor& x) {
  std::vector<Number> numbers(static_cast<std::size_t>(x.size()));
  if (std::is_integral_v<Number> && is_floating(x.dtype())) {
    throw internal_error("{} numbers are read as integers", name_of(x.dtype()));
  }
  switch (x.dtype()) {
    case DType::float64:
      read_as<double>(x, numbers);
      break;
    case DType::float32:
      read_as<float>(x, numbers);
      break;
    case DType::int64:
      read_as<std::int64_t>(x, numbers);
      break;
    case DType::int32:
      read_as<std::int32_t>(x, numbers);
      break;
    case DType::int16:
      read_as<std::int16_t>(x, numbers);
      break;
    case DType::int8:
      read_as<std::int8_t>(x, numbers);
      break;
    case DType::uint64:
      read_as<std::uint64_t>(x, numbers);
      break;
    case DType::uint32:
      read_as<std::uint32_t>(x, numbers);
      break;
    case DType::uint16:
      read_as<std::uint16_t>(x, numbers);
      break;
    case DType::uint8:
      read_as<std::uint8_t>(x, numbers);
      break;
    case DType::float16:
    case DType::bfloat16:
    case DType::boolean:
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<Number>(x.at(static_cast<std::int64_t>(i)));
      }
      break;
  }
  return numbers;
}

template <typename Number>
void write(const Tensor& y, const std::vector<Number>& numbers) {
  if constexpr (std::is_same_v<Number, double>) {
    switch (y.dtype()) {
      case DType::float64:
        return write_as<double>(y, numbers);
      case DType::float32:
        return write_as<float>(y, numbers);
      default:
        break;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) y.set(static_cast<std::int64_t>(i), numbers[i]);
  } else {
    switch (y.dtype()) {
      case DType::float64:
        return write_as<double>(y, numbers);
      case DType::float32:
        return write_as<float>(y, numbers);
      case DType::int64:
        return write_as<std::int64_t>(y, numbers);
      case DType::int32:
        return write_as<std::int32_t>(y, numbers);
      case DType::int16:
        return write_as<std::int16_t>(y, numbers);
      case DType::int8:
        return write_as<std::int8_t>(y, numbers);
      case DType::uint64:
        return write_as<std::uint64_t>(y, numbers);
      case DType::uint32:
        return write_as<std::uint32_t>(y, numbers);
      case DType::uint16:
        return write_as<std::uint16_t>(y, numbers);
      case DType::uint8:
        return write_as<std::uint8_t>(y, numbers);
      case DType::float16:
      case DType::bfloat16:
      case DType::boolean:
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          y.set(static_cast<std::int64_t>(i), static_cast<double>(numbers[i]));
        }
    }
  }
}

template <>
double rounded(DType dtype, double number) {
  switch (dtype) {
    case DType::float32:
      return static_cast<float>(number);
    case DType::float16:
      return float16_to_float(double_to_float16(number));
    case DType::bfloat16:
      return bfloat16_to_float(double_to_bfloat16(number));
    default:
      return number;
  }
}

template std::vector<double> read<double>(const Tensor&);
template std::vector<std::int64_t> read<std::int64_t>(const Tensor&);
template std::vector<std::uint64_t> read<std::uint64_t>(const Tensor&);
template void write(const Tensor&, const std::vector<double>&);
template void write(const Tensor&, const std::vector<std::int64_t>&);
template void write(const Tensor&, const std::vector<std::uint64_t>&);

}  // namespace attn::backends::reference
