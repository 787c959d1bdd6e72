#include "attn/io/array_file.h"

#include <span>

#include "attn/io/file.h"
#include "attn/io/npy.h"
#include "attn/io/tensor_file.h"
#include "support.h"

namespace attn::io {
namespace {

/// A version 1 file of this dtype and shape over these bytes.
Bytes strings_of(const std::string& descr, const std::string& shape, const std::string& bytes) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string text("\x93NUMPY\1\0", 8);
  text += {static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return bytes_of_text(text + header + bytes);
}

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  AtomicFile file(folder / name);
  file.write(text);
  file.commit();
  return folder / name;
}

}  // namespace

TEST_CASE("array_file: Unicode of either byte order and bytes are read from .npy, without trailing NULs") {
  using namespace std::string_literals;
  const auto texts = [](const Bytes& file) { return parse_text_npy(file, "x.npy").value(); };
  CHECK(texts(strings_of("<U2", "(2,)", "a\0\0\0b\0\0\0\xe9\0\0\0\0\0\0\0"s)).values ==
        std::vector<std::string>{"ab", "\xc3\xa9"});
  CHECK(texts(strings_of(">U1", "(1, 1)", "\0\x01\xf6\0"s)).values == std::vector<std::string>{"\xf0\x9f\x98\x80"});
  CHECK(texts(strings_of(">U1", "(1, 1)", "\0\x01\xf6\0"s)).shape == Shape{1, 1});
  CHECK(texts(strings_of("|S3", "(2,)", "a\0\0b\0c"s)).values == std::vector<std::string>{"a", "b\0c"s});
  CHECK(texts(strings_of("<U0", "(0,)", "")).values.empty());
  CHECK(parse_text_npy(data_file("float32.npy"), "x.npy") == std::nullopt);
}

TEST_CASE("array_file: strings that do not fit their header, and invalid characters, are rejected") {
  using namespace std::string_literals;
  const auto said = [](const Bytes& file) {
    return refusal([&] { static_cast<void>(parse_text_npy(file, "x.npy")); });
  };
  CHECK(said(strings_of("<U2", "(2,)", "a\0\0\0"s)) ==
        "x.npy: 4 bytes of elements follow the header, which do not fit strings of 8 bytes in the shape (2,)");
  for (const char* empty : {"<U0", "|S0"})  // the file would not bound their number
    CHECK(said(strings_of(empty, "(16777216,)", "")) == "x.npy: strings of 0 bytes are not accepted");
  CHECK(said(strings_of("|S1", "(2000001,)", std::string(2'000'001, 'a'))) ==
        "x.npy: more than 2,000,000 strings are not accepted");
  CHECK(said(strings_of("<U1", "(1,)", "\0\xd8\0\0"s)) == "x.npy: a string contains 0xd800, which is not a character");
  CHECK(said(strings_of("<U1", "(1,)", "\0\0\x11\0"s)) ==
        "x.npy: a string contains 0x110000, which is not a character");
  CHECK(said(strings_of("|U1", "(1,)", "a\0\0\0"s)).find("the dtype '|U1'") != std::string::npos);
  CHECK(said(strings_of("<U99999999999999999999", "(1,)", "")).find("the dtype") != std::string::npos);
  CHECK(refusal([&] { return parse_npy(strings_of("<U1", "(1,)", "a\0\0\0"s), "x.npy"); }) ==
        "x.npy: an array of strings, where numbers are expected");
}

TEST_CASE("array_file: strings are written as NumPy's U and read back only as strings") {
  const TemporaryFolder folder;
  const std::vector<NamedTexts> texts = {
      {"words", {Shape{2, 2}, {"a", "", "\xc3\xa9", "\xf0\x9f\x98\x80z\xe6\x97\xa5"}}},
      {"none", {Shape{0}, {}}},
      {"empty", {Shape{}, {""}}}};
  write_tensors(folder / "a.npz", {}, texts);
  const Arrays back = read_arrays(folder / "a.npz");
  REQUIRE(back.texts.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(back.texts[i].name == texts[i].name);
    CHECK(back.texts[i].texts.shape == texts[i].texts.shape);
    CHECK(back.texts[i].texts.values == texts[i].texts.values);
  }
  write_tensors(folder / "a.npy", {}, std::span(texts).first(1));
  CHECK(read_file(folder / "a.npy").text().find("'descr': '<U3'") != std::string_view::npos);
  CHECK(refusal([&] { write_tensors(folder / "b.npy", {}, texts); }, ExitCode::usage)
            .ends_with("a .npy file holds one array, not 3; use .npz"));
  CHECK(refusal([&] { write_tensors(folder / "b.safetensors", {}, texts); }, ExitCode::usage)
            .ends_with("'words' contains strings, which .safetensors cannot store; use .npz"));
  const std::vector<NamedTexts> bytes = {{"a", {Shape{1}, {"\xff"}}}};
  CHECK(refusal([&] { write_tensors(folder / "b.npz", {}, bytes); }).starts_with("a: a string is not UTF-8"));
}

TEST_CASE("array_file: a text file has a string per line, and JSON has lists of one length or an object of them") {
  const TemporaryFolder folder;
  const auto only = [&](const std::string& name, const std::string& text) {
    Arrays arrays = read_arrays(written(folder, name, text));
    CHECK(arrays.tensors.empty());
    REQUIRE(arrays.texts.size() == 1);
    return arrays.texts[0];
  };
  CHECK(only("a.txt", "one\r\n\ntwo\n").texts.values == std::vector<std::string>{"one", "", "two"});
  CHECK(only("b.txt", "one").texts.shape == Shape{1});
  CHECK(only("c.txt", "").texts.shape == Shape{0});
  CHECK(only("a.json", R"([["a", "b"], ["c", "d"]])").texts.shape == Shape{2, 2});
  CHECK(only("b.json", R"({"words": ["a"]})").name == "words");
  const auto said = [&](const std::string& name, const std::string& text) {
    const std::string path = written(folder, name, text);
    const std::string message = refusal([&] { static_cast<void>(read_arrays(path)); });
    REQUIRE(message.starts_with(path + ": "));
    return message.substr(path.size() + 2);
  };
  CHECK(said("d.txt", "\xff") == "a text file of inputs must be UTF-8");
  CHECK(said("c.json", R"(["a", 1])") == "/1: expected a string, got number");
  CHECK(said("d.json", R"([["a"], ["b", "c"]])") == "/1: expected a list of 1, as next to it");
  CHECK(said("e.json", R"({"x": "a"})") ==
        "/x: expected a list of strings, or an object of such by the names of inputs");
  CHECK(said("f.json", R"("a")") == "expected a list of strings, or an object of such by the names of inputs");
}

}  // namespace attn::io
