// The capabilities of this machine and of this build, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/report/devices_view.h"
#include "attn/report/format.h"
#include "attn/report/links_view.h"

namespace attn::report {

struct DoctorCheck {
  std::string name;  ///< name of a capability: "HDF5 files"
  bool works = false;
  std::string detail;  ///< details, if the capability works: "1.10.8"
  std::string why_not;
};

struct DoctorReport {
  bool works = false;  ///< whether models run on the CPU
  std::string version, build, compiler, onednn, onednn_isa, hdf5;
  std::vector<DoctorCheck> checks;
  DevicesReport devices;
  std::string system;  ///< operating system: "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm)"
  double load = 0;     ///< mean number of busy processes over one minute
  std::int64_t available_bytes = 0;
  std::optional<double> core_limit;
  std::optional<std::int64_t> memory_limit;
  std::vector<std::pair<std::string, std::string>> variables;  ///< environment variables that attn reads
  std::vector<std::string> notes;                              ///< sentences about likely mistakes
  std::optional<LinksReport> links;                            ///< links between ranks, if measured
};

/// table, json ("attn.doctor/1"), and markdown, a block for a bug report
[[nodiscard]] std::string render(Format format, const DoctorReport& report);

}  // namespace attn::report
