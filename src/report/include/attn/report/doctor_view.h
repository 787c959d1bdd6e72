// What works on this machine and what does not, as text.
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
  std::string name;  ///< "HDF5 files"
  bool works = false;
  std::string detail;  ///< of what works: "1.10.8"
  std::string why_not;
};

struct DoctorReport {
  bool works = false;  ///< models run on the CPU
  std::string version, build, compiler, onednn, onednn_isa, hdf5;
  std::vector<DoctorCheck> checks;
  DevicesReport devices;
  std::string system;  ///< "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm)"
  double load = 0;     ///< mean of processes that want to run, over a minute
  std::int64_t available_bytes = 0;
  std::optional<double> core_limit;
  std::optional<std::int64_t> memory_limit;
  std::vector<std::pair<std::string, std::string>> variables;  ///< those that change what attn does
  std::vector<std::string> notes;                              ///< what looks like a mistake
  std::optional<LinksReport> links;                            ///< between ranks, where that was asked for
};

/// table, json ("attn.doctor/1"), and as markdown a block to paste into a bug report
[[nodiscard]] std::string render(Format format, const DoctorReport& report);

}  // namespace attn::report
