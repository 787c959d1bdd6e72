#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attn::python {
namespace {

using ArrayArgument = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Code = nb::dlpack::dtype_code;

/// Returns the dtype of DLPack's kind and bits.
std::optional<DType> dtype_of_array(nb::dlpack::dtype given) {
  if (given.lanes != 1) return std::nullopt;
  switch (static_cast<Code>(given.code)) {
    case Code::Float:
      if (given.bits == 64) return DType::float64;
      if (given.bits == 32) return DType::float32;
      return given.bits == 16 ? std::optional(DType::float16) : std::nullopt;
    case Code::Bfloat:
      return DType::bfloat16;
    case Code::Bool:
      return DType::boolean;
    case Code::Int:
      if (given.bits == 64) return DType::int64;
      if (given.bits == 32) return DType::int32;
      return given.bits == 16 ? DType::int16 : DType::int8;
    case Code::UInt:
      if (given.bits == 64) return DType::uint64;
      if (given.bits == 32) return DType::uint32;
      return given.bits == 16 ? DType::uint16 : DType::uint8;
    default:
      return std::nullopt;
  }
}

nb::dlpack::dtype array_dtype(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * bytes_of(dtype));
  Code code = Code::Int;
  if (dtype == DType::boolean) {
    code = Code::Bool;
  } else if (is_floating(dtype)) {
    code = dtype == DType::bfloat16 ? Code::Bfloat : Code::Float;
  } else if (name_of(dtype).starts_with("uint")) {
    code = Code::UInt;
  }
  return {static_cast<std::uint8_t>(code), bits, 1};
}

/// Converts objects that are not arrays, and arrays in foreign byte order, by NumPy; nothing if the result is not
/// numeric.
nb::object as_array(nb::handle given) {
  nb::object array = nb::module_::import_("numpy").attr("asarray")(given);
  const nb::object dtype = array.attr("dtype");
  if (nb::cast<std::string>(dtype.attr("kind")).find_first_of("fiub") == std::string::npos) return {};
  return array.attr("astype")(dtype.attr("newbyteorder")("="), "copy"_a = false);
}

}  // namespace

Tensor tensor_of(nb::handle array, const std::string& name) {
  ArrayArgument given;
  if (!nb::try_cast(array, given)) {
    const nb::object made = as_array(array);
    if (!made.is_valid() || !nb::try_cast(made, given))
      throw bad_input("the input '{}' is no array of numbers", printable(name));
  }
  const std::optional<DType> dtype = dtype_of_array(given.dtype());
  if (!dtype) throw bad_input("the input '{}' has a dtype that attn does not have", printable(name));
  Shape shape;
  for (std::size_t i = 0; i < given.ndim(); ++i) shape.push_back(static_cast<Dim>(given.shape(i)));
  auto* data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(given.data())));
  // The last copy of the tensor may be destroyed without the GIL.
  auto owner = std::make_shared<ArrayArgument>(std::move(given));
  const std::shared_ptr<std::byte> bytes(data, [owner](std::byte*) mutable {
    const nb::gil_scoped_acquire acquire;
    owner.reset();
  });
  return {*dtype, std::move(shape), bytes};
}

nb::object array_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::bfloat16) return array_of(tensor.cast(DType::float32));
  auto* kept = new std::shared_ptr<std::byte>(tensor.owner());
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<std::byte>*>(p); });
  std::vector<std::size_t> shape;
  for (const Dim dim : tensor.shape()) shape.push_back(static_cast<std::size_t>(dim));
  return nb::cast(
      nb::ndarray<nb::numpy>(tensor.data(), shape.size(), shape.data(), owner, nullptr, array_dtype(tensor.dtype())));
}

}  // namespace attn::python
