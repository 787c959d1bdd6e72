#include "attn/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "byte_reader.h"
#include "raw_tensor.h"

// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace attn::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMostStrings = std::int64_t{1} << 24;
constexpr std::int64_t kMaxNpyHeader = 10'000;  // NumPy's own limit

constexpr std::array<std::pair<std::string_view, DType>, 12> kNpyTypes = {{{"f8", DType::float64},
                                                                           {"f4", DType::float32},
                                                                           {"f2", DType::float16},
                                                                           {"i8", DType::int64},
                                                                           {"i4", DType::int32},
                                                                           {"i2", DType::int16},
                                                                           {"i1", DType::int8},
                                                                           {"u8", DType::uint64},
                                                                           {"u4", DType::uint32},
                                                                           {"u2", DType::uint16},
                                                                           {"u1", DType::uint8},
                                                                           {"b1", DType::boolean}}};

struct Header {
  DType dtype = DType::float32;
  char text = '\0';             ///< for strings, 'U' or 'S'
  std::int64_t characters = 0;  ///< characters per string, padded with NUL
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<Dim> dims;
};

/// Parses the header's Python dict in the form that NumPy writes: keys in any order, each exactly once.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  Header parse() {
    Header header;
    std::vector<std::string> keys;
    if (text_.empty() || text_.front() != '{') fail("no '{{' where it begins");
    expect('{');
    while (!accept('}')) {
      if (!keys.empty()) {
        expect(',');
        if (accept('}')) break;
      }
      const std::string key = string();
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) fail("the key '{}' twice", printable(key));
      keys.push_back(key);
      expect(':');
      if (key == "descr") {
        parse_descr(header);
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.dims = tuple();
      } else {
        fail("the unknown key '{}'", printable(key));
      }
    }
    if (keys.size() != 3) fail("not all of the keys 'descr', 'fortran_order' and 'shape'");
    // Padding is spaces and then a newline, which would end a statement in Python anywhere else.
    position_ = std::min(text_.find_first_not_of(' ', position_), text_.size());
    if (position_ + 1 == text_.size() && text_.back() == '\n') ++position_;
    if (position_ != text_.size()) fail("text after the closing brace");
    return header;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw bad_input("{}: the .npy header has {} (at its character {})", place_,
                    fmt::format(format, std::forward<Args>(args)...), position_);
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool accept(char wanted) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail("no '{}' where one belongs", wanted);
  }

  std::string string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail("no string where one belongs");
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) fail("a string without an end");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    if (value.find_first_of("\\\n") != std::string::npos) fail("an escape in a string");
    position_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    fail("neither True nor False where one belongs");
  }

  std::vector<Dim> tuple() {
    std::vector<Dim> dims;
    expect('(');
    while (!accept(')')) {
      if (!dims.empty()) {
        expect(',');
        if (accept(')')) return dims;
      }
      dims.push_back(integer());
      if (dims.size() > kMaxRank) fail("more than {} dimensions", kMaxRank);
      // Python reads (3) as a number: one dimension is written (3,).
      skip_space();
      if (dims.size() == 1 && position_ < text_.size() && text_[position_] == ')') fail("a number for its shape");
    }
    return dims;
  }

  Dim integer() {
    skip_space();
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", position_), text_.size());
    if (end == position_) fail("no dimension of 0 or more where one belongs");
    if (text_[position_] == '0' && end > position_ + 1) fail("a dimension with a leading zero");
    Dim value = 0;
    const auto [rest, error] = std::from_chars(text_.data() + position_, text_.data() + end, value);
    if (error != std::errc()) fail("a dimension beyond 64 bits");
    position_ = end;
    return value;
  }

  void parse_descr(Header& header) {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[') fail("a structured dtype; only plain arrays can be read");
    const std::string descr = string();
    const auto fail_descr = [&] {
      fail("the dtype '{}'; accepted are f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 after '<', '>' or, for one byte, '|'{}",
           printable(descr), descr == "|O" ? "; strings are saved with .astype(str)" : "");
    };
    if (descr.empty()) fail_descr();
    if (descr.size() > 2 && (descr[1] == 'U' || descr[1] == 'S')) {
      header.text = descr[1];
      header.big_endian = descr.front() == '>';
      const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), header.characters);
      const bool ordered = descr[1] == 'S' ? descr.front() == '|' : descr.front() == '<' || descr.front() == '>';
      constexpr std::int64_t kMost = std::int64_t{1} << 30;
      if (error != std::errc() || end != descr.data() + descr.size() || !ordered || header.characters < 0 ||
          header.characters > kMost)
        fail_descr();
      return;
    }
    const auto type = std::find_if(kNpyTypes.begin(), kNpyTypes.end(),
                                   [&](const auto& row) { return row.first == std::string_view(descr).substr(1); });
    if (type == kNpyTypes.end()) fail_descr();
    const char order = descr.front();
    const bool one_byte = bytes_of(type->second) == 1;
    if (order != '<' && order != '>' && !(order == '|' && one_byte)) fail_descr();
    header.dtype = type->second;
    header.big_endian = order == '>' && !one_byte;
  }

  std::string_view text_;
  std::string place_;
  std::size_t position_ = 0;
};

/// Reverses the bytes of each element.
void swap_bytes(const Tensor& tensor) {
  const std::int64_t width = bytes_of(tensor.dtype());
  for (std::byte* at = tensor.data(); at != tensor.data() + tensor.bytes(); at += width) std::reverse(at, at + width);
}

/// Converts column-major elements to row-major.
Tensor from_fortran_order(const Tensor& columns) {
  Tensor rows(columns.dtype(), columns.shape());
  const std::int64_t width = bytes_of(rows.dtype());
  const int rank = rows.shape().rank();
  std::vector<Dim> stride(static_cast<std::size_t>(rank), 1);  // strides of `columns`, in elements
  for (std::size_t axis = 1; axis < stride.size(); ++axis) {
    stride[axis] = stride[axis - 1] * rows.shape()[static_cast<int>(axis) - 1];
  }
  std::vector<Dim> index(static_cast<std::size_t>(rank), 0);
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < rows.size(); ++to) {
    std::memcpy(rows.data() + to * width, columns.data() + from * width, static_cast<std::size_t>(width));
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      from += stride[a];
      if (++index[a] < rows.shape()[axis]) break;
      from -= stride[a] * rows.shape()[axis];
      index[a] = 0;
    }
  }
  return rows;
}

}  // namespace

namespace {

/// The header, and a reader positioned after it.
struct Opened {
  ByteReader reader;
  Header header;
};

Opened open(const Bytes& file, std::string_view name) {
  ByteReader reader(file.span(), printable(name));
  const std::string& place = reader.place();
  if (reader.text(static_cast<std::int64_t>(kMagic.size())) != kMagic) throw bad_input("{}: not a .npy file", place);
  const int major = std::to_integer<int>(reader.take(1).front());
  const int minor = std::to_integer<int>(reader.take(1).front());
  if (major < 1 || major > 3 || minor != 0) {
    throw bad_input("{}: .npy version {}.{}; versions 1.0 to 3.0 can be read", place, major, minor);
  }
  const std::int64_t header_size = major == 1 ? reader.u16() : reader.u32();
  if (header_size > kMaxNpyHeader) {
    throw bad_input("{}: a .npy header of {} bytes; at most {} are accepted", place, header_size, kMaxNpyHeader);
  }
  Header header = HeaderParser(reader.text(header_size), place).parse();
  return {std::move(reader), std::move(header)};
}

/// Converts code points to UTF-8 without the padding NULs.
std::string utf8_of(std::span<const std::byte> points, bool big_endian, const std::string& place) {
  std::string out;
  std::size_t pending = 0;  // NULs that may be padding
  for (std::size_t at = 0; at < points.size(); at += 4) {
    std::uint32_t point = 0;
    for (std::size_t i = 0; i < 4; ++i)
      point = point << 8U | std::to_integer<std::uint32_t>(points[at + (big_endian ? i : 3 - i)]);
    if (point == 0) {
      ++pending;
      continue;
    }
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
      throw bad_input("{}: a string contains {:#x}, which is not a character", place, point);
    out.append(std::exchange(pending, 0), '\0');
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
      put(point);
    } else if (point < 0x800) {
      put(0xc0 | point >> 6U);
      put(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
      put(0xe0 | point >> 12U);
      put(0x80 | (point >> 6U & 0x3f));
      put(0x80 | (point & 0x3f));
    } else {
      put(0xf0 | point >> 18U);
      put(0x80 | (point >> 12U & 0x3f));
      put(0x80 | (point >> 6U & 0x3f));
      put(0x80 | (point & 0x3f));
    }
  }
  return out;
}

}  // namespace

std::optional<TextArray> parse_text_npy(const Bytes& file, std::string_view name) {
  Opened opened = open(file, name);
  const Header& header = opened.header;
  if (header.text == '\0') return std::nullopt;
  ByteReader& reader = opened.reader;
  const std::string& place = reader.place();
  const Shape shape(header.dims);
  const auto count = shape.elements();
  const std::int64_t width = header.characters * (header.text == 'U' ? 4 : 1);
  if (!count || *count > kMostStrings || *count * width != reader.remaining())
    throw bad_input("{}: {} bytes of elements follow the header, which do not fit strings of {} bytes in the shape {}",
                    place, reader.remaining(), width, shape.str());
  if (header.fortran_order && shape.rank() > 1)
    throw bad_input("{}: strings in column order are not supported; save numpy.ascontiguousarray of them", place);
  TextArray out{shape, {}};
  for (std::int64_t i = 0; i < *count; ++i) {
    const std::span<const std::byte> bytes = reader.take(width);
    if (header.text == 'U') {
      out.values.push_back(utf8_of(bytes, header.big_endian, place));
      continue;
    }
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    text.erase(text.find_last_not_of('\0') + 1);
    out.values.push_back(std::move(text));
  }
  return out;
}

Tensor parse_npy(const Bytes& file, std::string_view name) {
  Opened opened = open(file, name);
  ByteReader& reader = opened.reader;
  Header& header = opened.header;
  const std::string& place = reader.place();
  if (header.text != '\0') throw bad_input("{}: an array of strings, where numbers are expected", place);
  const auto wanted = byte_count(header.dtype, header.dims);
  if (wanted != reader.remaining()) {
    throw bad_input("{}: {} bytes of elements follow the header, where {} of shape {} takes {}", place,
                    reader.remaining(), name_of(header.dtype), Shape(header.dims).str(),
                    wanted ? fmt::format("{}", *wanted) : "more than any file holds");
  }
  const Bytes elements = file.slice(reader.offset(), reader.remaining());
  const bool rearranged = header.big_endian || (header.fortran_order && header.dims.size() > 1);
  Tensor tensor =
      tensor_over(header.dtype, std::move(header.dims), rearranged ? Bytes::copy_of(elements.span()) : elements, place);
  if (header.big_endian) swap_bytes(tensor);
  return header.fortran_order && tensor.shape().rank() > 1 ? from_fortran_order(tensor) : tensor;
}

namespace {

/// Returns the header for a dtype in NumPy's notation: "<f4".
std::string header_of(const std::string& descr, const Shape& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape.str());
  const std::size_t before = kMagic.size() + 4;  // the version and the header's size have two bytes each
  while ((before + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace

std::string npy_header(DType dtype, const Shape& shape) {
  const auto type =
      std::find_if(kNpyTypes.begin(), kNpyTypes.end(), [&](const auto& row) { return row.second == dtype; });
  if (type == kNpyTypes.end()) throw internal_error("no .npy dtype for {}", name_of(dtype));
  return header_of(fmt::format("{}{}", bytes_of(dtype) == 1 ? '|' : '<', type->first), shape);
}

Tensor as_npy(const Tensor& tensor) { return tensor.dtype() == DType::bfloat16 ? tensor.cast(DType::float32) : tensor; }

namespace {

/// Returns the code points of valid UTF-8.
std::u32string points_of(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    auto point = static_cast<char32_t>(length == 1 ? byte : byte & (0xffU >> (length + 1)));
    for (std::size_t i = 1; i < length; ++i) point = point << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
    out.push_back(point);
    at += length;
  }
  return out;
}

}  // namespace

std::string text_npy(const TextArray& texts, std::string_view name) {
  std::vector<std::u32string> strings;
  std::size_t width = 1;  // NumPy's own minimum
  for (const std::string& value : texts.values) {
    if (!is_utf8(value))
      throw bad_input("{}: a string is not UTF-8, so that NumPy's U cannot hold it", printable(name));
    strings.push_back(points_of(value));
    width = std::max(width, strings.back().size());
  }
  std::string out = header_of(fmt::format("<U{}", width), texts.shape);
  out.reserve(out.size() + strings.size() * width * 4);
  for (const std::u32string& points : strings)
    for (std::size_t i = 0; i < width; ++i) {
      const std::uint32_t point = i < points.size() ? points[i] : 0;
      for (const unsigned shift : {0U, 8U, 16U, 24U}) out.push_back(static_cast<char>(point >> shift & 0xffU));
    }
  return out;
}

void write_npy(AtomicFile& file, const Tensor& tensor) {
  const Tensor array = as_npy(tensor);
  file.write(npy_header(array.dtype(), array.shape()));
  file.write({array.data(), static_cast<std::size_t>(array.bytes())});
}

}  // namespace attn::io
