#include "companion/file_decoder.h"

#include <chrono>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {

std::string decoder_version(const FileDecoder& decoder) {
  const std::string line = version_line(decoder.companion);
  if (!line.starts_with(decoder.library) || !line.ends_with('\n'))
    throw bad_input("{} answers '{}' where its version is expected", decoder.companion.program, printable(line));
  return printable(line.substr(0, line.size() - 1));
}

void decode_file(const FileDecoder& decoder, const Bytes& file, std::string_view name,
                 const std::function<void(Channel& channel, const std::string& place)>& take) {
  const std::string place = printable(name);
  if (file.size() == 0) throw bad_input("{}: the file is empty", place);
  if (file.size() > decoder.most_bytes)
    throw bad_input("{}: {} may have at most {} MiB", place, decoder.file, decoder.most_bytes >> 20);
  const OpenBytes open(decoder.companion, file);
  // Processor time advances more slowly under load.
  const std::chrono::seconds limit(5 * decoder.milliseconds / 1000);
  CompanionProcess process(decoder.companion, "read", open.backing(), file.size(), limit, place);
  try {
    take(process.channel(), place);
  } catch (const ChannelBroken& broken) {
    process.fail(broken);
  }
}

std::uint8_t answer_tag(Channel& channel, const std::string& place) {
  const std::uint8_t tag = channel.u8();
  if (tag == kErrorTag) throw bad_input("{}: {}", place, printable(channel.text()));
  return tag;
}

void expect_valid(bool is_valid) {
  if (!is_valid) throw ChannelBroken{ChannelBroken::Reason::invalid_data};
}

}  // namespace attn::io
