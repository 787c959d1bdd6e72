#include "model/backbones/backbone.h"

namespace attn::keras {

void Backbone::config(Fields& f) {
  f("name", name);
  f("trainable", trainable);
  f("dtype", policy);
  fields(f);
}

}  // namespace attn::keras
