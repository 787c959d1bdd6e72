// Conversions of families that are in files of their own.
#pragma once

#include "frontends/hugging_face/config_map.h"

namespace attn::keras {

void gpt_neox(ConfigMap& map);
void bloom(ConfigMap& map);
void falcon(ConfigMap& map);
void t5(ConfigMap& map);

}  // namespace attn::keras
