#include "attn/io/npy.h"

#include "support.h"

namespace attn::io {
namespace {

/// A version 1 file of this header with `elements` zero bytes.
Bytes npy_of(std::string_view header, std::size_t elements) {
  std::string text("\x93NUMPY\1\0", 8);
  text += {static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return bytes_of_text(text.append(header).append(elements, '\0'));
}

TEST_CASE("npy: NumPy's files of any order and version are read") {
  check_counts(parse_npy(data_file("float32.npy"), ""), DType::float32, {2, 3});
  check_counts(parse_npy(data_file("version3.npy"), ""), DType::float32, {2, 3});
  check_counts(parse_npy(data_file("float64_fortran.npy"), ""), DType::float64, {2, 3, 4});
  check_counts(parse_npy(data_file("int32_big_endian.npy"), ""), DType::int32, {5});
  check_counts(parse_npy(data_file("float16_big_endian_fortran.npy"), ""), DType::float16, {3, 2});
  check_counts(parse_npy(data_file("scalar.npy"), ""), DType::float64, {});
  check_counts(parse_npy(data_file("empty.npy"), ""), DType::float32, {0, 3});
}

TEST_CASE("npy: elements are shared with the file if they are aligned") {
  const Bytes file = data_file("float32.npy");
  CHECK(parse_npy(file, "").data() == file.data().get() + 128);
}

TEST_CASE("npy: anything except a plain numeric array is rejected by name") {
  CHECK(refusal([] { return parse_npy(data_file("object.npy"), "x.npy"); }).find("the dtype '|O'") !=
        std::string::npos);
  CHECK(refusal([] { return parse_npy(data_file("complex.npy"), "x.npy"); }).find("the dtype '<c8'") !=
        std::string::npos);
  CHECK(refusal([] { return parse_npy(data_file("structured.npy"), "x.npy"); }).find("a structured dtype") !=
        std::string::npos);
}

TEST_CASE("npy: a written array reads back equal, with bfloat16 as float32") {
  const TemporaryFolder folder;
  for (const DType dtype : kAllTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3}, Shape{3, 1, 2, 2}}) {
      AtomicFile file(folder / "a.npy");
      write_npy(file, counting(dtype, shape));
      file.commit();
      check_counts(parse_npy(read_file(folder / "a.npy"), ""), dtype == DType::bfloat16 ? DType::float32 : dtype,
                   shape);
    }
  }
}

TEST_CASE("npy: written bytes equal NumPy's") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.npy");
  write_npy(file, counting(DType::float32, {2, 3}));
  file.commit();
  CHECK(read_file(folder / "a.npy").text() == data_file("float32.npy").text());
}

TEST_CASE("npy: equivalent headers are read, and all others rejected") {
  const auto accepted = [](std::string_view header, std::size_t elements) {
    return is_accepted([&] { return parse_npy(npy_of(header, elements), "x"); });
  };
  CHECK(accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8));
  CHECK(accepted("{\"shape\":(2 , ),'fortran_order':True,'descr':'<f4'}  \n", 8));
  CHECK(accepted("{'descr': '<u1', 'fortran_order': False, 'shape': (2,0,3)}", 0));
  CHECK(accepted("{'descr': '>b1', 'fortran_order': False, 'shape': ()}", 1));

  CHECK(!accepted("", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", 4));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': 2}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (02,)}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False}", 4));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", 8));
  CHECK(!accepted("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8));
  CHECK(!accepted("{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", 8));
  CHECK(!accepted("{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}", 8));
  CHECK(!accepted("{'descr': '', 'fortran_order': False, 'shape': (2,)}", 8));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7));
  CHECK(!accepted("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9));
}

TEST_CASE("npy: shapes larger than any file are rejected without allocating") {
  for (const char* shape : {"4611686018427387904,", "9223372036854775807,4", "9223372036854775808,",
                            "1099511627776,1048576", "2147483648,2147483648,4", "4294967296,4294967296",
                            "99999999999999999999999,", "0,4611686018427387904,4", "18446744073709551617,"}) {
    CAPTURE(shape);
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::string(shape) + ")}";
    CHECK(!is_accepted([&] { return parse_npy(npy_of(header, 4), "x"); }));
  }
  const std::string ones = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  const auto of_rank = [&](int rank) {
    std::string header = ones;
    for (int i = 0; i < rank; ++i) header += "1,";
    return npy_of(header + ")}", 4);
  };
  CHECK(parse_npy(of_rank(8), "").shape().rank() == 8);
  CHECK(refusal([&] { return parse_npy(of_rank(9), ""); }).find("more than 8 dimensions") != std::string::npos);
}

TEST_CASE("npy: a header that declares more than the file has, or more than 10000 bytes, is rejected") {
  CHECK(!is_accepted([] { return parse_npy(bytes_of_text(std::string_view("\x93NUMPY\1\0\xff\xff{}", 12)), "x"); }));
  CHECK(!is_accepted(
      [] { return parse_npy(bytes_of_text(std::string_view("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14)), "x"); }));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  header.resize(10'000, ' ');
  CHECK(is_accepted([&] { return parse_npy(npy_of(header, 4), "x"); }));
  header += ' ';
  CHECK(refusal([&] { return parse_npy(npy_of(header, 4), "x"); }).find("10001 bytes") != std::string::npos);
}

TEST_CASE("npy: other versions are rejected") {
  CHECK(!is_accepted([] { return parse_npy(bytes_of_text(std::string_view("\x93NUMPY\0\0\2\0{}", 12)), "x"); }));
  CHECK(!is_accepted([] { return parse_npy(bytes_of_text(std::string_view("\x93NUMPY\4\0\2\0\0\0{}", 14)), "x"); }));
  CHECK(!is_accepted([] { return parse_npy(bytes_of_text(std::string_view("\x93NUMPY\1\1\2\0{}", 12)), "x"); }));
}

TEST_CASE("npy: a bool other than 0 and 1 is rejected") {
  std::string text(npy_header(DType::boolean, {2}));
  CHECK(refusal([&] { return parse_npy(bytes_of_text(text + std::string("\1\2", 2)), "x"); }) ==
        "x: element 1 of a bool array is 2, neither 0 nor 1");
}

TEST_CASE("npy: every prefix is rejected, and every flipped bit is read or rejected") {
  const auto parse = [](const Bytes& file) { return parse_npy(file, "x"); };
  const Bytes file = data_file("float64_fortran.npy");
  check_prefixes_are_refused(file.text(), parse);
  // Flips that turn one legal header into another: in the padding, '<' to '>', f8 to i8, u8 …
  CHECK(count_accepted_flips(file.text(), 128, parse) < 20);
}

TEST_CASE("npy: control characters from a file do not appear in the message") {
  const std::string message = refusal([] {
    return parse_npy(npy_of("{'descr': '\x1b]52;c;x\x07', 'fortran_order': False, 'shape': (1,)}", 4), "a\x1b[0m");
  });
  CHECK(message.find('\x1b') == std::string::npos);
  CHECK(message.find('\x07') == std::string::npos);
}

}  // namespace
}  // namespace attn::io
