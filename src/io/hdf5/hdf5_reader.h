// Walks an HDF5 file and sends its contents. Included only by attn-hdf5.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/size.h"
#include "attn/base/tensor.h"
#include "attn/io/hdf5_file.h"
#include "hdf5_handle.h"
#include "hdf5_records.h"
#include "hdf5_types.h"
#include "tensors/raw_tensor.h"
#include "zip/bomb.h"

namespace attn::io {

class Hdf5Reader {
 public:
  /// `size` is the file's size in bytes.
  Hdf5Reader(hid_t file, std::int64_t size, Channel& out) : file_(file), size_(size), out_(out) {}

  /// Sends every object. Throws Hdf5Refused.
  void send() { send_object(file_, "", 0); }

 private:
  struct Link {
    std::string name;
    H5L_type_t type;
  };

  static std::string shown(const std::string& path) { return "/" + path; }

  void count(std::int64_t more) {
    objects_ += more;
    if (objects_ > kMaxHdf5Objects) {
      throw Hdf5Refused("more than " + std::to_string(kMaxHdf5Objects) + " groups, datasets and strings");
    }
  }

  void send_object(hid_t object, const std::string& path, int depth) {
    const std::string place = shown(path);
    H5O_info_t info{};
    // Requests all information, although most is unused, so that the library validates all of it.
    check(H5Oget_info2(object, &info, H5O_INFO_ALL), place);
    if (!visited_.insert(info.addr).second) throw Hdf5Refused(place + ": the same object under two names");
    count(1);
    const std::map<std::string, Hdf5Text> attributes = read_attributes(object, place);
    switch (info.type) {
      case H5O_TYPE_GROUP:
        out_.put_u8(static_cast<std::uint8_t>(Hdf5Tag::group));
        out_.put_text(path);
        send_attributes(attributes);
        send_members(object, path, depth);
        return;
      case H5O_TYPE_DATASET:
        send_dataset(object, path, attributes);
        send_attributes(attributes);
        return;
      default:
        throw Hdf5Refused(place + ": neither a group nor a dataset");
    }
  }

  void send_members(hid_t group, const std::string& path, int depth) {
    std::vector<Link> links;
    const auto collect = [](hid_t, const char* name, const H5L_info_t* info, void* to) -> herr_t {
      auto& found = *static_cast<std::vector<Link>*>(to);
      found.push_back({name, info->type});
      return static_cast<std::int64_t>(found.size()) > kMaxHdf5Objects ? -1 : 0;
    };
    check(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &links), shown(path) + ": its members");
    for (const Link& link : links) {
      const std::string member = path.empty() ? link.name : path + "/" + link.name;
      if (link.name.empty() || link.name == "." || link.name == ".." || link.name.find('/') != std::string::npos) {
        throw Hdf5Refused(shown(member) + ": an invalid name");
      }
      if (link.type != H5L_TYPE_HARD) {
        throw Hdf5Refused(shown(member) + ": a link to another place; save the file without soft and external links");
      }
      if (depth == kMaxHdf5Depth) {
        throw Hdf5Refused(shown(member) + ": deeper than " + std::to_string(kMaxHdf5Depth) + " groups");
      }
      const Handle object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT), H5Oclose, shown(member));
      send_object(object.get(), member, depth + 1);
    }
  }

  void send_dataset(hid_t dataset, const std::string& path, const std::map<std::string, Hdf5Text>& attributes) {
    const std::string place = shown(path);
    const Handle type(H5Dget_type(dataset), H5Tclose, place + ": its type");
    const auto element = dtype_of_type(type.get());
    if (!element) throw Hdf5Refused(place + ": its elements are neither numbers nor bools");
    if (element->dtype == DType::bfloat16) check_opaque(attributes, place);

    const Handle space(H5Dget_space(dataset), H5Sclose, place + ": its shape");
    const std::vector<Dim> dims = dims_of(space.get(), place);
    const auto bytes = byte_count(element->dtype, dims);
    if (!bytes) throw Hdf5Refused(place + ": its shape is larger than any file");

    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, place + ": its layout");
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    if (H5Pget_external_count(creation.get()) != 0) throw Hdf5Refused(place + ": its data is in another file");
    if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT && layout != H5D_CHUNKED) {
      throw Hdf5Refused(place + ": its data is in other datasets (a virtual dataset)");
    }
    check_filters(creation.get(), place);
    if (layout == H5D_CHUNKED) check_chunks(creation.get(), element->dtype, place);

    const auto stored = static_cast<std::int64_t>(std::min<hsize_t>(H5Dget_storage_size(dataset), size_));
    const haddr_t offset = layout == H5D_CONTIGUOUS ? H5Dget_offset(dataset) : HADDR_UNDEF;
    const bool in_file = offset != HADDR_UNDEF && element->as_is;
    if (in_file && (stored != *bytes || offset > static_cast<haddr_t>(size_ - stored))) {
      throw Hdf5Refused(place + ": its data is not all in the file");
    }
    const std::shared_ptr<std::byte> data = in_file ? nullptr : read_elements(dataset, *element, *bytes, stored, place);

    out_.put_u8(static_cast<std::uint8_t>(Hdf5Tag::dataset));
    out_.put_text(path);
    out_.put_u8(static_cast<std::uint8_t>(element->dtype));
    out_.put_u8(static_cast<std::uint8_t>(dims.size()));
    for (const Dim dim : dims) out_.put_u64(static_cast<std::uint64_t>(dim));
    if (in_file) {
      out_.put_u8(static_cast<std::uint8_t>(Hdf5Storage::in_file));
      out_.put_u64(offset);
    } else {
      out_.put_u8(static_cast<std::uint8_t>(Hdf5Storage::here));
      out_.put_bytes({data.get(), static_cast<std::size_t>(*bytes)});
    }
  }

  std::shared_ptr<std::byte> read_elements(hid_t dataset, Hdf5Type element, std::int64_t bytes, std::int64_t stored,
                                           const std::string& place) {
    copied_ = std::min(kMaxSize, copied_ + bytes);
    if (is_bomb(bytes, stored) || is_bomb(copied_, size_)) {
      throw Hdf5Refused(place + ": " + std::to_string(stored) + " bytes would become " + std::to_string(bytes) +
                        "; refused as a bomb");
    }
    std::shared_ptr<std::byte> data = allocate_bytes(bytes);
    if (bytes > 0) {
      const Handle memory = type_of(element.dtype);
      check(H5Dread(dataset, memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data.get()), place + ": its data");
    }
    return data;
  }

  static std::vector<Dim> dims_of(hid_t space, const std::string& place) {
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    if (kind == H5S_SCALAR) return {};
    if (kind != H5S_SIMPLE) throw Hdf5Refused(place + ": it has no shape");
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > kMaxRank) throw Hdf5Refused(place + ": too many dimensions");
    std::array<hsize_t, kMaxRank> sizes{};
    check(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), place + ": its shape");
    std::vector<Dim> dims;
    for (int axis = 0; axis < rank; ++axis) {
      const hsize_t size = sizes[static_cast<std::size_t>(axis)];
      if (size > static_cast<hsize_t>(kMaxSize)) throw Hdf5Refused(place + ": its shape is larger than any file");
      dims.push_back(static_cast<Dim>(size));
    }
    return dims;
  }

  /// Keras stores the type of an opaque dataset in an attribute; older .h5 files lack it.
  static void check_opaque(const std::map<std::string, Hdf5Text>& attributes, const std::string& place) {
    const auto found = attributes.find("dtype");
    if (found == attributes.end()) return;
    if (found->second.values != std::vector<std::string>{"bfloat16"}) {
      throw Hdf5Refused(place + ": its elements are neither numbers nor bools");
    }
  }

  static void check_filters(hid_t creation, const std::string& place) {
    const int filters = H5Pget_nfilters(creation);
    check(filters, place + ": its filters");
    for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
      unsigned flags = 0;
      std::size_t no_values = 0;
      unsigned config = 0;
      const H5Z_filter_t filter = H5Pget_filter2(creation, i, &flags, &no_values, nullptr, 0, nullptr, &config);
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32) {
        throw Hdf5Refused(place + ": packed with filter " + std::to_string(filter) +
                          "; only deflate, shuffle and fletcher32 can be read");
      }
    }
  }

  /// The library unpacks a whole chunk, however little of the dataset it holds.
  void check_chunks(hid_t creation, DType dtype, const std::string& place) const {
    std::array<hsize_t, kMaxRank + 1> sizes{};
    const int rank = H5Pget_chunk(creation, static_cast<int>(sizes.size()), sizes.data());
    check(rank, place + ": its chunks");
    std::vector<Dim> dims;
    for (int axis = 0; axis < std::min(rank, kMaxRank); ++axis) {
      dims.push_back(static_cast<Dim>(std::min<hsize_t>(sizes[static_cast<std::size_t>(axis)], kMaxSize)));
    }
    const auto bytes = byte_count(dtype, dims);
    if (!bytes || is_bomb(*bytes, size_)) throw Hdf5Refused(place + ": its chunks are larger than the file");
  }

  std::map<std::string, Hdf5Text> read_attributes(hid_t object, const std::string& place) {
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
      auto& found = *static_cast<std::vector<std::string>*>(to);
      found.emplace_back(name);
      return static_cast<std::int64_t>(found.size()) > kMaxHdf5Objects ? -1 : 0;
    };
    check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), place + ": its attributes");
    count(static_cast<std::int64_t>(names.size()));
    std::map<std::string, Hdf5Text> attributes;
    for (const std::string& name : names) {
      const std::string attribute_place = place + ": attribute '" + name + "'";
      const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, attribute_place);
      const Handle type(H5Aget_type(attribute.get()), H5Tclose, attribute_place);
      const Handle space(H5Aget_space(attribute.get()), H5Sclose, attribute_place);
      const hssize_t points = H5Sget_simple_extent_npoints(space.get());
      if (points < 0) throw Hdf5Refused(attribute_place + " cannot be read");
      const bool is_string = H5Tget_class(type.get()) == H5T_STRING;
      if (!is_string && points > 0) continue;
      Hdf5Text& text = attributes[name];
      text.is_list = H5Sget_simple_extent_type(space.get()) != H5S_SCALAR;
      count(points);
      if (points > 0) text.values = read_strings(attribute.get(), type.get(), space.get(), points, attribute_place);
      for (const std::string& value : text.values) text_ += static_cast<std::int64_t>(value.size());
      if (text_ > kMaxHdf5Text) throw Hdf5Refused("more than " + std::to_string(kMaxHdf5Text) + " bytes of strings");
    }
    return attributes;
  }

  static std::vector<std::string> read_strings(hid_t attribute, hid_t type, hid_t space, hssize_t points,
                                               const std::string& place) {
    std::vector<std::string> values;
    const auto size = static_cast<std::size_t>(points);
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> pointers(size, nullptr);
      check(H5Aread(attribute, type, pointers.data()), place);
      for (const char* pointer : pointers) values.emplace_back(pointer == nullptr ? "" : pointer);
      check(H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data()), place);
      return values;
    }
    const std::size_t width = H5Tget_size(type);
    const auto bytes = checked_mul(static_cast<std::int64_t>(width), points);
    if (!bytes || *bytes > kMaxHdf5Text) throw Hdf5Refused(place + " is too large");
    std::vector<char> buffer(static_cast<std::size_t>(*bytes));
    check(H5Aread(attribute, type, buffer.data()), place);
    const char padding = H5Tget_strpad(type) == H5T_STR_SPACEPAD ? ' ' : '\0';
    for (std::size_t i = 0; i < size; ++i) {
      std::string value(buffer.data() + i * width, width);
      if (padding == ' ') {
        value.erase(value.find_last_not_of(' ') + 1);
      } else {
        value.erase(std::min(value.find('\0'), value.size()));
      }
      values.push_back(std::move(value));
    }
    return values;
  }

  void send_attributes(const std::map<std::string, Hdf5Text>& attributes) {
    for (const auto& [name, text] : attributes) {
      out_.put_u8(static_cast<std::uint8_t>(Hdf5Tag::attribute));
      out_.put_text(name);
      out_.put_u8(text.is_list ? 1 : 0);
      out_.put_u32(static_cast<std::uint32_t>(text.values.size()));
      for (const std::string& value : text.values) out_.put_text(value);
    }
  }

  hid_t file_;
  std::int64_t size_;
  Channel& out_;
  std::set<haddr_t> visited_;
  std::int64_t objects_ = 0;
  std::int64_t text_ = 0;
  std::int64_t copied_ = 0;  // bytes of the datasets that were sent as copies
};

}  // namespace attn::io
