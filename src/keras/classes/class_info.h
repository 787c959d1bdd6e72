// The record of a Keras class. Each record is at the end of the file that implements the class.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "attn/keras/role.h"
#include "attn/keras/version.h"

namespace attn::keras {

class Layer;
using LayerPtr = std::unique_ptr<Layer>;

/// The version of all classes of KerasHub, because files do not contain the version of KerasHub.
inline constexpr Version kAnyKeras = kOldest;

/// The default of ClassInfo::named_until: before Keras 3.11 most operations accepted a name only if they had no other
/// arguments.
inline constexpr Version kWhereAlone = -1;

/// A key that Keras 2 writes and Keras 3 does not have. It is dropped by default.
struct Keras2Key {
  std::string_view name;
  std::string_view renamed{};   ///< the class's name in Keras 3
  std::string_view only{};      ///< the key is dropped if its value is this (JSON) or null, and rejected otherwise
  std::string_view argument{};  ///< if the value is true, this argument of the call is set
};

/// The record of a layer or an operation. Records of layers name their members; those of operations list the first four
/// or five in this order.
struct ClassInfo {
  std::string_view name;                     ///< the class's name in configs
  LayerPtr (*make)();                        ///< null for a rejected class
  Since since;                               ///< kAnyKeras for a class of KerasHub
  std::string_view module = "keras.layers";  ///< the module in configs: "keras.src.ops.numpy", …
  Role role = Role::other;
  /// The package in the class's registered name: "keras_hub" for "keras_hub>TransformerEncoder".
  std::string_view package{};
  std::string_view shown{};  ///< the name in summaries, if different (GroupedQueryAttention)
  std::string_view also{};   ///< an alternative name in files ("Model" for Functional)
  /// Whether the layer computes with position numbers in its compute dtype, so that half precision rounds large
  /// numbers.
  bool counts_positions = false;
  /// For layers that merge inputs: whether an input without a mask counts as all valid in the mask of the result.
  bool keeps_unmasked = false;

  /// The names of the variables' sizes in the literature: "kernel: d_in d_out; bias: d_out". Each part begins with a
  /// suffix of a variable's path. "-" is an unnamed size; "a|b" means a, or b if a already names another size. If
  /// several parts match, the first one with the variable's rank is used.
  std::string_view symbols{};
  std::string_view no_params{};  ///< the reason why it has no variables, if its role does not imply it: "its angles
                                 ///< follow …"
  /// The last Keras version before 3.11 that writes the name of this operation into its config.
  Version named_until = kWhereAlone;
  std::string_view later_arguments{};  ///< arguments that calls accept since a later version: "rtol 3.4; atol 3.4"
  std::string_view refused{};          ///< the reason why attn rejects the class: "it carries Python code, …"

  std::span<const Keras2Key> keras2_keys{};
  std::string_view keras2_names{};  ///< Keras 2 classes that became this one, separated by spaces
};

/// The classes of one or several files.
using Family = std::span<const ClassInfo>;

template <typename T>
LayerPtr make_layer() {
  return std::make_unique<T>();
}

/// The `make` of a record, for a class whose constructor arguments select a variant.
template <typename T, auto... kArguments>
LayerPtr make_with() {
  return std::make_unique<T>(kArguments...);
}

}  // namespace attn::keras
