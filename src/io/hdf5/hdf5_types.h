// The mapping between HDF5's element types and attn's. Included only by attn-hdf5.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attn/base/dtype.h"
#include "hdf5_handle.h"

namespace attn::io {

inline constexpr std::string_view kFalseTrue[2] = {"FALSE", "TRUE"};

/// NumPy's 16-bit float in HDF5, as h5py describes it: IEEE 754 binary16.
inline Handle float16_type(hid_t like) {
  Handle type(H5Tcopy(like), H5Tclose, "a type");
  check(H5Tset_fields(type.get(), 15, 10, 5, 0, 10), "a type");  // sign, exponent, its size, mantissa, its size
  check(H5Tset_size(type.get(), 2), "a type");
  check(H5Tset_ebias(type.get(), 15), "a type");
  return type;
}

/// Returns the in-memory type of a dtype. bfloat16 is two opaque bytes, as Keras stores it; bool is h5py's enumeration.
inline Handle type_of(DType dtype) {
  const auto copy = [](hid_t type) { return Handle(H5Tcopy(type), H5Tclose, "a type"); };
  switch (dtype) {
    case DType::float64:
      return copy(H5T_IEEE_F64LE);
    case DType::float32:
      return copy(H5T_IEEE_F32LE);
    case DType::float16:
      return float16_type(H5T_IEEE_F32LE);
    case DType::bfloat16:
      return {H5Tcreate(H5T_OPAQUE, 2), H5Tclose, "a type"};
    case DType::int64:
      return copy(H5T_STD_I64LE);
    case DType::int32:
      return copy(H5T_STD_I32LE);
    case DType::int16:
      return copy(H5T_STD_I16LE);
    case DType::int8:
      return copy(H5T_STD_I8LE);
    case DType::uint64:
      return copy(H5T_STD_U64LE);
    case DType::uint32:
      return copy(H5T_STD_U32LE);
    case DType::uint16:
      return copy(H5T_STD_U16LE);
    case DType::uint8:
      return copy(H5T_STD_U8LE);
    case DType::boolean:
      break;
  }
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "a type");
  for (std::int8_t value = 0; value < 2; ++value) {
    check(H5Tenum_insert(type.get(), kFalseTrue[value].data(), &value), "a type");
  }
  return type;
}

struct Hdf5Type {
  DType dtype;
  bool as_is;  // the file's bytes equal those in memory
};

/// Returns the dtype of a dataset's type; nothing if it is not a number, bool or bfloat16.
inline std::optional<Hdf5Type> dtype_of_type(hid_t type) {
  static constexpr std::array kNumbers = {DType::float64, DType::float32, DType::float16, DType::int64,
                                          DType::int32,   DType::int16,   DType::int8,    DType::uint64,
                                          DType::uint32,  DType::uint16,  DType::uint8};
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_INTEGER || kind == H5T_FLOAT) {
    for (const DType dtype : kNumbers) {
      const Handle little = type_of(dtype);
      if (H5Tequal(type, little.get()) > 0) return Hdf5Type{dtype, true};
      const Handle big = type_of(dtype);
      check(H5Tset_order(big.get(), H5T_ORDER_BE), "a type");
      if (H5Tequal(type, big.get()) > 0) return Hdf5Type{dtype, false};
    }
  }
  if (kind == H5T_ENUM && H5Tequal(type, type_of(DType::boolean).get()) > 0) return Hdf5Type{DType::boolean, true};
  if (kind == H5T_OPAQUE && H5Tequal(type, type_of(DType::bfloat16).get()) > 0) return Hdf5Type{DType::bfloat16, true};
  return std::nullopt;
}

}  // namespace attn::io
