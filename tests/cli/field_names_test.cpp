#include "options/field_names.h"

#include <doctest/doctest.h>

namespace attn::cli {

TEST_CASE("field names: a field in backticks is replaced by its option") {
  CHECK(with_option_names("`batch` 1 `sequence_length` 64 fits") == "--batch-size 1 --seq-len 64 fits");
  CHECK(with_option_names("what `memory_limit` leaves") == "what --mem-limit leaves");
  CHECK(with_option_names("`layer` 7: no such layer; `decoder_ids` too") ==
        "--layer 7: no such layer; --decoder-ids too");
  CHECK(option_name("keras_version") == "--keras-version");
}

TEST_CASE("field names: other words in backticks stay") {
  CHECK(with_option_names("`attn summary` lists them") == "`attn summary` lists them");
  CHECK(with_option_names("`attn train --log` or `loss`") == "`attn train --log` or --loss");
  CHECK(with_option_names("one ` and `batch`") == "one ` and --batch-size");
  CHECK(with_option_names("an empty pair `` stays") == "an empty pair `` stays");
  CHECK(with_option_names("") == "");
}

}  // namespace attn::cli
