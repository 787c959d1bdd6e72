// Writes an HDF5 file from received records. Included only by attn-hdf5.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "hdf5_handle.h"
#include "hdf5_records.h"
#include "hdf5_types.h"
#include "tensors/raw_tensor.h"

namespace attn::io {

class Hdf5Writer {
 public:
  Hdf5Writer(hid_t file, Channel& in)
      : file_(file), in_(in), links_(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "the link list") {
    check(H5Pset_create_intermediate_group(links_.get(), 1), "the link list");
    check(H5Pset_char_encoding(links_.get(), H5T_CSET_UTF8), "the link list");
  }

  /// Receives records until the last one. Throws Hdf5Refused.
  void receive() {
    Handle object;  // the last created group or dataset, to which attributes belong
    while (true) {
      switch (static_cast<Hdf5Tag>(in_.u8())) {
        case Hdf5Tag::group:
          path_ = in_.text();
          object = make_group();
          break;
        case Hdf5Tag::dataset:
          path_ = in_.text();
          object = make_dataset();
          break;
        case Hdf5Tag::attribute:
          make_attribute(object.get());
          break;
        case Hdf5Tag::end:
          return;
        default:
          throw ChannelBroken{ChannelBroken::Reason::invalid_data};
      }
    }
  }

 private:
  Handle make_group() const {
    const std::string place = "/" + path_;
    if (path_.empty()) return {H5Gopen2(file_, "/", H5P_DEFAULT), H5Gclose, place};
    if (H5Lexists(file_, path_.c_str(), H5P_DEFAULT) > 0) {
      return {H5Gopen2(file_, path_.c_str(), H5P_DEFAULT), H5Gclose, place};
    }
    return {H5Gcreate2(file_, path_.c_str(), links_.get(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose, place};
  }

  Handle make_dataset() {
    const std::string place = "/" + path_;
    const auto dtype = static_cast<DType>(in_.u8());
    const int rank = in_.u8();
    std::vector<Dim> dims;
    std::vector<hsize_t> sizes;
    for (int axis = 0; axis < rank; ++axis) {
      sizes.push_back(in_.u64());
      dims.push_back(static_cast<Dim>(sizes.back()));
    }
    in_.u8();  // storage: always here
    const std::int64_t bytes = byte_count(dtype, dims).value_or(0);
    const std::shared_ptr<std::byte> data = allocate_bytes(bytes);
    in_.bytes({data.get(), static_cast<std::size_t>(bytes)});

    const Handle type = type_of(dtype);
    const Handle space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, sizes.data(), nullptr), H5Sclose,
                       place);
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, place);
    // Timestamps would make the bytes differ between runs.
    check(H5Pset_obj_track_times(creation.get(), 0), place);
    Handle dataset(H5Dcreate2(file_, path_.c_str(), type.get(), space.get(), links_.get(), creation.get(), H5P_DEFAULT),
                   H5Dclose, place);
    if (bytes > 0) check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data.get()), place);
    return dataset;
  }

  void make_attribute(hid_t object) {
    const std::string name = in_.text();
    const std::string place = "/" + path_ + ": attribute '" + name + "'";
    const bool is_list = in_.u8() != 0;
    std::vector<std::string> values(in_.u32());
    for (std::string& value : values) value = in_.text();
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());

    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, place);
    check(H5Tset_size(type.get(), H5T_VARIABLE), place);
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8), place);
    const hsize_t size = values.size();
    const Handle space(is_list ? H5Screate_simple(1, &size, nullptr) : H5Screate(H5S_SCALAR), H5Sclose, place);
    const Handle attribute(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose, place);
    if (!values.empty()) check(H5Awrite(attribute.get(), type.get(), pointers.data()), place);
  }

  hid_t file_;
  Channel& in_;
  Handle links_;
  std::string path_;  // path of the most recent object
};

}  // namespace attn::io
