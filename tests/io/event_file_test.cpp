// Files for TensorBoard: checksums and records.
#include "attn/io/event_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "../text.h"
#include "attn/base/error.h"
#include "attn/io/file.h"
#include "support.h"

namespace attn::io {

TEST_CASE("event file: the checksum is CRC-32C, as in RFC 3720 for 32 zeros and for digits") {
  CHECK(io::crc32c("123456789") == 0xe3069283);
  CHECK(io::crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(io::crc32c("") == 0);
}

TEST_CASE("event file: each record has its length, its bytes and the masked checksums of both") {
  const TemporaryFolder folder;
  {
    io::EventFile file(folder / "deep/logs");
    file.add("epoch_loss", 7, 0.5);
  }
  const std::filesystem::path path = std::filesystem::directory_iterator(folder / "deep/logs")->path();
  CHECK(path.filename().string().starts_with("events.out.tfevents."));
  const std::string bytes(io::read_file(path.string()).text());
  const auto number_at = [&](std::size_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    return number;
  };
  const auto masked = [](std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; };
  std::size_t at = 0, records = 0;
  for (; at + 16 <= bytes.size(); ++records) {
    const std::size_t length = number_at(at);
    REQUIRE(at + 16 + length <= bytes.size());
    CHECK(number_at(at + 8) == masked(io::crc32c(bytes.substr(at, 8))));
    CHECK(number_at(at + 12 + length) == masked(io::crc32c(bytes.substr(at + 12, length))));
    at += 16 + length;
  }
  CHECK(at == bytes.size());
  CHECK(records == 2);
  CHECK(test::contains(bytes, "brain.Event:2"));
  CHECK(test::contains(bytes, "epoch_loss"));
}

TEST_CASE("event file: a folder that cannot be created is an error with its name") {
  const TemporaryFolder folder;
  std::ofstream(folder / "taken") << "a file";
  CHECK_THROWS_AS(io::EventFile(folder / "taken/logs"), Error);
}

}  // namespace attn::io
