#include "algorithms/character_table.h"

namespace attn::tokenizers {
namespace {

char converted(char c, CharacterTable::Case letters) {
  if (letters == CharacterTable::Case::lower && c >= 'A' && c <= 'Z') return static_cast<char>(c + 'a' - 'A');
  if (letters == CharacterTable::Case::upper && c >= 'a' && c <= 'z') return static_cast<char>(c + 'A' - 'a');
  return c;
}

}  // namespace

CharacterTable::CharacterTable(Vocabulary vocabulary, Case letters, std::int64_t most)
    : Model(std::move(vocabulary)), letters_(letters), most_(most) {}

void CharacterTable::encode(std::string_view piece, std::vector<Id>& ids, Memory* /*memory*/) const {
  std::int64_t count = 0;
  for (const char given : piece) {
    if (count == most_) return;
    if (given < '!' || given > '~') continue;
    const char c = converted(given, letters_);
    const std::optional<Id> id = vocabulary_.find({&c, 1});
    if (!id) continue;
    ids.push_back(*id);
    ++count;
  }
}

}  // namespace attn::tokenizers
