// .npy and .safetensors files beyond the limits, and all single-bit flips and truncations of valid files.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "../places.h"
#include "attempt.h"
#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/base/text.h"
#include "attn/io/bytes.h"
#include "attn/io/keras_archive.h"
#include "attn/io/npy.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"
#include "zip.h"

namespace attn::test {
namespace {

using namespace std::string_literals;

std::string data_file(const std::string& name) {
  std::ifstream file(in_repository("tests/data/io/") + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string header(const std::string& descr, const std::string& fortran, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

std::string tensors(const std::string& json, std::size_t bytes = 0) {
  return number(json.size(), 8) + json + std::string(bytes, '\0');
}

std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets,
                       std::size_t bytes = 8) {
  return tensors(R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                 bytes);
}

/// Returns whether it is accepted. A rejection must be one printable sentence.
bool is_read(const std::function<void(const io::Bytes&)>& parse, const std::string& text) {
  try {
    parse(io::Bytes::copy_of(std::as_bytes(std::span(text))));
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(is_clean(error.what()));
    return false;
  }
}

/// 1: the first array has the expected value; 2: another one.
int parse_and_compare(const io::Bytes& file) {
  const std::vector<NamedTensor> arrays = io::parse_npz(file, "x.npz");
  for (std::int64_t i = 0; i < arrays.front().tensor.size(); ++i)
    if (arrays.front().tensor.at(i) != static_cast<double>(i)) return 2;
  return 1;
}

}  // namespace

TEST_CASE("npy: headers that are not of a plain numeric array, or do not match the file size, are rejected") {
  const std::string f4 = "'<f4'", yes = "True", no = "False", two = "(2,)", elements = "01234567";
  const Folder folder;
  CHECK(attempt({"weights", folder.file("good.npy", npy(header(f4, no, two), elements))}).code == 0);
  std::vector<std::string> files;
  for (const char* shape : {"(3,)",
                            "(1,)",
                            "()",
                            "(2, 2)",
                            "(0,)",
                            "(-2,)",
                            "(2)",
                            "2",
                            "[2]",
                            "(2.0,)",
                            "(2L,)",
                            "(+2,)",
                            "(02,)",
                            "(0x2,)",
                            "(None,)",
                            "(2, )x",
                            "(2,,)",
                            "(,)",
                            "(1_0,)",
                            "('2',)",
                            "(True,)",
                            "(9223372036854775807,)",
                            "(9223372036854775808,)",
                            "(18446744073709551615,)",
                            "(18446744073709551616,)",
                            "(18446744073709551618,)",
                            "(4611686018427387904, 2)",
                            "(4294967296, 4294967296)",
                            "(2147483648, 2147483648, 4)",
                            "(4294967296, 4294967296, 2)",
                            "(9223372036854775807, 4)",
                            "(1099511627776, 1048576)",
                            "(2, 9223372036854775808)",
                            "(0, 18446744073709551616)",
                            "(1, 1, 1, 1, 1, 1, 1, 1, 2)",
                            "(((2,),),)",
                            "{2}",
                            "\xEF\xBC\x92",
                            "(2,",
                            "2,)",
                            ""})
    files.push_back(npy(header(f4, no, shape), elements));
  for (const char* descr : {"'|O'",
                            "'O'",
                            "'<c8'",
                            "'<c16'",
                            "'<f16'",
                            "'|S4'",
                            "'<U2'",
                            "'<M8[s]'",
                            "'<m8[s]'",
                            "'|V4'",
                            "'<f3'",
                            "'f4'",
                            "'=f4'",
                            "'!f4'",
                            "'float32'",
                            "'<'",
                            "''",
                            "'<f4\\x00'",
                            "[('a', '<f4')]",
                            "('<f4', (2,))",
                            "'<f4', (2,)",
                            "['<f4']",
                            "None",
                            "1",
                            "'<i16'",
                            "'|f4'",
                            "__import__('os').system('id')",
                            "'<f4'.__class__",
                            "f'<f4'",
                            "b'<f4'",
                            "r'<f4'",
                            "'<f' '4'",
                            "\"\"\"<f4\"\"\"",
                            "'\x1b]0;x\a'"})
    files.push_back(npy(header(descr, no, two), elements));
  for (const char* fortran : {"0", "1", "None", "true", "'False'", "not True", "", "False or True", "Falsey"})
    files.push_back(npy(header(f4, fortran, two), elements));
  const std::string good = header(f4, no, two);
  for (const std::string& text : {""s,
                                  "{}"s,
                                  "{"s,
                                  "}"s,
                                  "[]"s,
                                  "x"s,
                                  "None"s,
                                  good + "x",
                                  good + good,
                                  "x" + good,
                                  "(" + good + ")",
                                  good.substr(0, good.size() - 3),
                                  "{'descr': '<f4', 'fortran_order': False}"s,
                                  "{'descr': '<f4', 'shape': (2,)}"s,
                                  "{'fortran_order': False, 'shape': (2,)}"s,
                                  "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"s,
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (1,)}"s,
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'extra': 1}"s,
                                  "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}"s,
                                  "{descr: '<f4', fortran_order: False, shape: (2,)}"s,
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), **{}}"s,
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} # x"s,
                                  "{'descr'\0: '<f4', 'fortran_order': False, 'shape': (2,)}"s,
                                  good.substr(0, good.size() - 1) + "  \n   \n",
                                  "\n" + good,
                                  " " + good,
                                  std::string(1000, '{'),
                                  std::string(1000, '('),
                                  std::string(60000, ' ') + good,
                                  good + std::string(10'000, ' ')})
    files.push_back(npy(text, elements));
  files.push_back(npy(good, ""));
  files.push_back(npy(good, "0123456"));
  files.push_back(npy(good, "012345678"));
  files.push_back(npy(header("'|b1'", no, two), "\1\2"));
  for (const std::string& text :
       {"\x93NUMPY\0\0"s, "\x93NUMPY\4\0"s, "\x93NUMPY\1\1"s, "\x93NUMPY\xff\xff"s, "\x93NUMPY\2\0\xff\xff\xff\xff"s,
        "\x93NUMPY\2\0\0\0\0\x80"s, "\x93NUMPY\3\0\x11\x27\0\0"s, "\x93NUMPY"s, "\x93NUMPX\1\0"s, "\x94NUMPY\1\0"s})
    files.push_back(text + good + elements);
  REQUIRE(files.size() > 110);
  for (const std::string& file : files) {
    CAPTURE(file.substr(0, 160));
    check_refused(attempt({"weights", folder.file("hostile.npy", file)}), "hostile.npy");
  }
}

TEST_CASE("safetensors: files that the official library rejects, and repeated keys, are rejected") {
  const Folder folder;
  CHECK(attempt({"weights", folder.file("good.safetensors", one_tensor("F32", "[2]", "[0,8]"))}).code == 0);
  std::vector<std::string> files;
  for (const char* shape : {"[3]",
                            "[1]",
                            "[]",
                            "[0]",
                            "[-2]",
                            "[2.0]",
                            "[2e0]",
                            "[\"2\"]",
                            "[null]",
                            "[[2]]",
                            "2",
                            "{}",
                            "null",
                            "[true]",
                            "[2,",
                            "[9223372036854775807]",
                            "[18446744073709551615]",
                            "[18446744073709551616]",
                            "[18446744073709551618]",
                            "[4611686018427387904,2]",
                            "[4294967296,4294967296]",
                            "[4294967296,4294967296,2]",
                            "[2147483648,2147483648,4]",
                            "[1,1,1,1,1,1,1,1,2]",
                            "[0,18446744073709551615]",
                            "[4611686018427387905]"})
    files.push_back(one_tensor("F32", shape, "[0,8]"));
  for (const char* offsets :
       {"[0,9]", "[0,7]", "[1,8]", "[1,9]", "[8,0]", "[0]", "[]", "[0,4,8]", "[0,8,0]", "[-8,0]", "[0,8.0]",
        "[\"0\",\"8\"]", "null", "8", "[0,18446744073709551615]", "[18446744073709551608,0]",
        "[0,18446744073709551624]", "[4611686018427387904,4611686018427387912]"})
    files.push_back(one_tensor("F32", "[2]", offsets));
  for (const char* dtype :
       {"F33", "", "f32", "float32", "F8_E4M3", "F8_E5M2", "F4", "C64", "O", "F32 ", "\\u0000", "U128", "E8M0"})
    files.push_back(one_tensor(dtype, "[2]", "[0,8]"));
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})",
                    b = R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  for (const std::string& json : {"{" + a + "," + a + "}",
                                  "{" + a + R"(,"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                  "{" + a + "," + a + "," + b + "}",
                                  "{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                  "{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                                  "{" + a + "}",
                                  R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"s,
                                  "{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                                  "{" + a + R"(,"b":1})",
                                  "{" + a + R"(,"b":null})",
                                  "{" + a + R"(,"b":[]})",
                                  "{" + a + R"(,"b":{}})",
                                  "{" + a + R"(,"b":"x"})",
                                  "{}"s,
                                  "{"s,
                                  "["s,
                                  "[]"s,
                                  "1"s,
                                  "null"s,
                                  "{}{}"s,
                                  "{} x"s,
                                  " {}"s,
                                  "\xEF\xBB\xBF{}"s,
                                  "{" + a + "," + b + ",}",
                                  "{" + a + "," + b + "}\0"s,
                                  "{" + a + "," + b,
                                  "{" + a + b + "}",
                                  "{" + a + "," + b + R"(,"__metadata__":{"k":1}})",
                                  "{" + a + "," + b + R"(,"__metadata__":{"k":"v","k":"v"}})",
                                  "{" + a + "," + b + R"(,"__metadata__":{"k":{}}})",
                                  "{" + a + "," + b + R"(,"__metadata__":[]})",
                                  "{" + a + "," + b + R"(,"__metadata__":"x"})",
                                  "{" + a + "," + b + R"(,"__metadata__":{},"__metadata__":{}})",
                                  "{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8],"x":1}})",
                                  "{" + a + R"(,"b":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                  "{" + a + R"(,"b":{"shape":[1],"data_offsets":[4,8]}})",
                                  "{" + a + R"(,"b":{"dtype":"F32","data_offsets":[4,8]}})",
                                  "{" + a + R"(,"b":{"dtype":"F32","shape":[1]}})",
                                  "{" + a + ",\"\xff\":{}}",
                                  "{" + a + ",\"\\ud800\":{}}",
                                  std::string(100'000, '['),
                                  std::string(100'000, '{'),
                                  "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}"})
    files.push_back(tensors(json, 8));
  for (const std::uint64_t size :
       {0ULL, 1ULL, 7ULL, 1ULL << 20, 100'000'000ULL, 100'000'001ULL, 1ULL << 31, 0xFFFFFFFFULL})
    files.push_back(number(size, 8) + "{" + a + "," + b + "}" + std::string(8, '\0'));
  files.push_back(number(2, 8) + "{}" + "PK\5\6" + std::string(18, '\0'));  // a zip archive follows
  REQUIRE(files.size() > 105);
  for (const std::string& file : files) {
    CAPTURE(file.substr(0, 160));
    check_refused(attempt({"weights", folder.file("hostile.safetensors", file)}), "hostile.safetensors");
  }
}

TEST_CASE("every format: every prefix is rejected, and every flipped bit is read or rejected") {
  const auto read_npy = [](const io::Bytes& file) { static_cast<void>(io::parse_npy(file, "x.npy")); };
  const auto read_npz = [](const io::Bytes& file) { static_cast<void>(io::parse_npz(file, "x.npz")); };
  const auto read_safetensors = [](const io::Bytes& file) {
    static_cast<void>(io::parse_safetensors(file, "x.safetensors"));
  };
  const auto read_archive = [](const io::Bytes& file) { static_cast<void>(io::parse_keras_archive(file, "x.keras")); };
  struct Kind {
    const char* file;
    std::function<void(const io::Bytes&)> parse;
  };
  const std::vector<Kind> kinds = {{"float32.npy", read_npy},
                                   {"version3.npy", read_npy},
                                   {"float16_big_endian_fortran.npy", read_npy},
                                   {"stored.npz", read_npz},
                                   {"deflated.npz", read_npz},
                                   {"streamed.npz", read_npz},
                                   {"all.safetensors", read_safetensors},
                                   {"model.keras", read_archive}};
  std::int64_t derived = 0;
  for (const Kind& kind : kinds) {
    CAPTURE(kind.file);
    std::string text = data_file(kind.file);
    REQUIRE(is_read(kind.parse, text));
    // The middle of a long file consists of elements, which may have any value.
    constexpr std::size_t kEnds = 3000;
    for (std::size_t size = 0; size < text.size(); ++size) {
      if (size > kEnds && size + kEnds < text.size()) continue;
      CHECK_FALSE(is_read(kind.parse, text.substr(0, size)));
      ++derived;
    }
    for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
      if (bit / 8 > kEnds && bit / 8 + kEnds < text.size()) continue;
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << (bit % 8));
      static_cast<void>(is_read(kind.parse, text));
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << (bit % 8));
      ++derived;
    }
  }
  CHECK(derived > 100'000);
}

TEST_CASE("silent corruption: a flipped bit in an archive's array is always detected") {
  for (const std::string name : {"stored.npz", "deflated.npz"}) {
    std::string text = data_file(name);
    // The data of the member begins after the first local header and its name.
    const std::size_t begin = 30 + static_cast<unsigned char>(text[26]) + static_cast<unsigned char>(text[28]);
    const std::size_t end = text.find("PK\3\4", begin);
    REQUIRE(end > begin);
    for (std::size_t bit = 8 * begin; bit < 8 * end; ++bit) {
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << (bit % 8));
      int read = 0;
      static_cast<void>(is_read([&](const io::Bytes& file) { read = parse_and_compare(file); }, text));
      // Deflate has several encodings of the same data: the array must be unchanged.
      CHECK(read <= (name == "deflated.npz" ? 1 : 0));
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << (bit % 8));
    }
  }
}

TEST_CASE("safetensors: an index of split weights opens only files in its folder, and no links") {
  const Folder folder;
  static_cast<void>(folder.file("x.safetensors", one_tensor("F32", "[2]", "[0,8]")));
  const auto index = [&](const std::string& name) {
    return folder.file("index.weights.json", R"({"metadata": {}, "weight_map": {"a": )" + name + "}}");
  };
  CHECK(attempt({"weights", index("\"x.safetensors\"")}).code == 0);
  std::filesystem::create_symlink("x.safetensors", folder / "link.safetensors");
  std::filesystem::create_symlink("/etc/passwd", folder / "passwd.h5");
  std::filesystem::create_directory(folder / "sub");
  for (const std::string name : {"\"link.safetensors\"", "\"passwd.h5\"", "\"sub\"", "\"../x.safetensors\"",
                                 "\"sub/../x.safetensors\"", "\"/etc/passwd\"", "\".\"", "\"..\"", "\"\"",
                                 "\"x.safetensors\\u0000\"", "\"..\\\\x.safetensors\"", "\"nothing.h5\"", "1", "null",
                                 "{}", "[1]", "[\"x.safetensors\", \"../x.safetensors\"]", "\"index.weights.json\""}) {
    CAPTURE(name);
    check_refused(attempt({"weights", index(name)}), folder / "");
  }
  for (const std::string& text :
       {R"({"weight_map": {"a": "x.safetensors", "a": "x.safetensors"}})"s, R"({"weight_map": {}, "weight_map": {}})"s,
        "{\"weight_map\": " + std::string(100'000, '['), R"({"weight_map": [])"s, R"({"weight_map": null})"s, "{}"s,
        "{\"weight_map\": {\"a\": \"x.safetensors\"}}\0"s})
    check_refused(attempt({"weights", folder.file("index.weights.json", text)}), "index.weights.json");
}

}  // namespace attn::test
