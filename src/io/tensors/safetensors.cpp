#include "attn/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "byte_reader.h"
#include "raw_tensor.h"
#include "unique_names.h"

// The format: https://github.com/huggingface/safetensors#format
namespace attn::io {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxHeader = 100'000'000;  // the library's own limit
constexpr std::size_t kMaxTensors = 1'000'000;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::array<std::pair<std::string_view, DType>, 13> kTypes = {{{"F64", DType::float64},
                                                                        {"F32", DType::float32},
                                                                        {"F16", DType::float16},
                                                                        {"BF16", DType::bfloat16},
                                                                        {"I64", DType::int64},
                                                                        {"I32", DType::int32},
                                                                        {"I16", DType::int16},
                                                                        {"I8", DType::int8},
                                                                        {"U64", DType::uint64},
                                                                        {"U32", DType::uint32},
                                                                        {"U16", DType::uint16},
                                                                        {"U8", DType::uint8},
                                                                        {"BOOL", DType::boolean}}};

struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<Dim>> dims;
  std::optional<std::vector<std::int64_t>> offsets;
};

/// Handles the header's JSON events. The format limits the nesting, so the handler needs no deeper levels.
class HeaderHandler {
 public:
  HeaderHandler(std::string place) : place_(std::move(place)) {}

  std::vector<Entry> entries;

  bool start_object(std::size_t) {
    if (state_ == State::start) return enter(State::tensors);
    if (state_ == State::tensors && key_ == kMetadata) return enter(State::metadata);
    if (state_ == State::tensors) {
      entries.push_back({.name = key_, .dtype = {}, .dims = {}, .offsets = {}});
      if (entries.size() > kMaxTensors) throw bad_input("{}: more than {} tensors", place_, kMaxTensors);
      return enter(State::tensor);
    }
    unexpected("an object");
  }
  bool end_object() {
    if (state_ == State::metadata) return enter(State::tensors);
    if (state_ == State::tensor) {
      const Entry& entry = entries.back();
      if (!entry.dtype || !entry.dims || !entry.offsets) {
        throw bad_input("{}: tensor '{}' lacks one of dtype, shape and data_offsets", place_, printable(entry.name));
      }
      return enter(State::tensors);
    }
    return enter(State::end);
  }
  bool key(Json::string_t& key) {
    key_ = key;
    if (state_ == State::tensors && !names_.insert(key).second) repeated();
    if (state_ == State::metadata && !metadata_.insert(key).second) repeated();
    if (state_ == State::tensor) {
      const Entry& entry = entries.back();
      const bool again =
          (key == "dtype" && entry.dtype) || (key == "shape" && entry.dims) || (key == "data_offsets" && entry.offsets);
      if (again) repeated();
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        throw bad_input("{}: tensor '{}' has the unknown key '{}'", place_, printable(entry.name), printable(key));
      }
    }
    return true;
  }
  bool string(Json::string_t& value) {
    if (state_ == State::metadata) return true;
    if (state_ != State::tensor || key_ != "dtype") unexpected("a string");
    const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.first == value; });
    if (type == kTypes.end()) {
      throw bad_input(
          "{}: tensor '{}' has the dtype '{}'; accepted are F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL",
          place_, printable(entries.back().name), printable(value));
    }
    entries.back().dtype = type->second;
    return true;
  }
  bool start_array(std::size_t) {
    if (state_ != State::tensor || key_ == "dtype") unexpected("an array");
    (key_ == "shape" ? entries.back().dims : entries.back().offsets).emplace();
    return enter(State::numbers);
  }
  bool end_array() { return enter(State::tensor); }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (state_ != State::numbers) unexpected("a number");
    if (value > static_cast<std::uint64_t>(kMaxSize)) unexpected("a number beyond any file's size");
    auto& numbers = key_ == "shape" ? *entries.back().dims : *entries.back().offsets;
    if (numbers.size() == (key_ == "shape" ? kMaxRank : 2)) unexpected("too many numbers");
    numbers.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool number_integer(Json::number_integer_t) { unexpected("a negative number"); }
  bool number_float(Json::number_float_t, const Json::string_t&) { unexpected("a number that is not an integer"); }
  bool boolean(bool) { unexpected("a boolean"); }
  bool null() { unexpected("null"); }
  bool binary(Json::binary_t&) { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    throw bad_input("{}: the safetensors header is not valid JSON at its character {}", place_, position);
  }

 private:
  enum class State { start, tensors, metadata, tensor, numbers, end };

  bool enter(State state) {
    state_ = state;
    return true;
  }
  [[noreturn]] void unexpected(std::string_view what) const {
    throw bad_input("{}: the safetensors header has {} at '{}', where none belongs", place_, what, printable(key_));
  }
  [[noreturn]] void repeated() const {
    throw bad_input("{}: the safetensors header has the key '{}' twice", place_, printable(key_));
  }

  std::string place_;
  State state_ = State::start;
  std::string key_;  // the most recent one
  std::set<std::string> names_;
  std::set<std::string> metadata_;
};

/// The tensors' data must be contiguous from the first byte to the last.
void check_offsets(const std::vector<Entry>& entries, std::int64_t size, const std::string& place) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return *a->offsets < *b->offsets; });
  std::int64_t expected = 0;
  for (const Entry* entry : order) {
    const std::string name = printable(entry->name);
    const std::vector<std::int64_t>& offsets = *entry->offsets;
    if (offsets.size() != 2) throw bad_input("{}: tensor '{}' needs two data_offsets", place, name);
    if (offsets[0] != expected || offsets[1] < offsets[0]) {
      throw bad_input("{}: the data of tensor '{}' is at {} to {}, where byte {} was expected: a hole or an overlap",
                      place, name, offsets[0], offsets[1], expected);
    }
    const auto wanted = byte_count(*entry->dtype, *entry->dims);
    if (wanted != offsets[1] - offsets[0]) {
      throw bad_input("{}: tensor '{}' has {} bytes, which is not what {} of shape {} takes", place, name,
                      offsets[1] - offsets[0], name_of(*entry->dtype), Shape(*entry->dims).str());
    }
    expected = offsets[1];
  }
  if (expected != size) {
    throw bad_input("{}: {} bytes of data, where the tensors take {}", place, size, expected);
  }
}

}  // namespace

std::vector<NamedTensor> parse_safetensors(const Bytes& file, std::string_view name) {
  ByteReader reader(file.span(), printable(name));
  const std::string& place = reader.place();
  const std::uint64_t header_size = reader.u64();
  if (header_size > kMaxHeader) {
    throw bad_input("{}: a safetensors header of {} bytes; at most {} are accepted", place, header_size, kMaxHeader);
  }
  const std::string_view header = reader.text(static_cast<std::int64_t>(header_size));
  if (!header.starts_with('{')) throw bad_input("{}: the safetensors header does not begin with '{{'", place);
  // The JSON parser would treat a null character as the end of its input.
  if (header.find('\0') != std::string_view::npos) throw bad_input("{}: a null character in the header", place);
  HeaderHandler handler(place);
  Json::sax_parse(header.begin(), header.end(), &handler);

  check_offsets(handler.entries, reader.remaining(), place);
  std::vector<NamedTensor> tensors;
  for (Entry& entry : handler.entries) {
    const std::int64_t from = (*entry.offsets)[0];
    const Bytes data = file.slice(reader.offset() + from, (*entry.offsets)[1] - from);
    Tensor tensor = tensor_over(*entry.dtype, std::move(*entry.dims), data,
                                fmt::format("{}: tensor '{}'", place, printable(entry.name)));
    tensors.push_back({std::move(entry.name), std::move(tensor)});
  }
  return tensors;
}

namespace {

/// `first` are members of the header that precede those of the tensors.
void write_with_header(AtomicFile& file, std::span<const NamedTensor> tensors, std::string_view first) {
  check_unique_names(tensors, file.path());
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& named : tensors) order.push_back(&named);
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const std::int64_t width_a = bytes_of(a->tensor.dtype());
    const std::int64_t width_b = bytes_of(b->tensor.dtype());
    return width_a != width_b ? width_a > width_b : a->name < b->name;
  });

  std::string header = "{" + std::string(first);
  std::int64_t offset = 0;
  for (const NamedTensor* named : order) {
    if (!is_utf8(named->name) || named->name == kMetadata) {
      throw bad_input("{}: a safetensors file cannot hold the name '{}'", printable(file.path()),
                      printable(named->name));
    }
    const Tensor& tensor = named->tensor;
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.second == tensor.dtype(); });
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.size() > 1 ? "," : "", Json(named->name).dump(), type->first,
                          fmt::join(tensor.shape(), ","), offset, offset + tensor.bytes());
    offset += tensor.bytes();
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the data is aligned to 8 bytes

  const std::uint64_t size = header.size();
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(header);
  for (const NamedTensor* named : order) {
    file.write({named->tensor.data(), static_cast<std::size_t>(named->tensor.bytes())});
  }
}

}  // namespace

void write_safetensors(AtomicFile& file, std::span<const NamedTensor> tensors) { write_with_header(file, tensors, ""); }

void write_torch_safetensors(AtomicFile& file, std::span<const NamedTensor> tensors) {
  write_with_header(file, tensors, R"("__metadata__":{"format":"pt"})");
}

}  // namespace attn::io
