// The forms in which `wisp stat` and `wisp jstack` show a snapshot.
#pragma once

#include <string>

#include "statistics.h"

namespace wisp {

// earlier: for rates per second and shares of the time in between; null: since the start.
std::string stat_text(const Statistics& now, const Statistics* earlier, bool tasks);
std::string stat_json(const Statistics& now, bool tasks);
std::string stat_openmetrics(const Statistics& now);
std::string json_of(const Statistics& s, const stats::TaskRecord& task);

// Share of the time since `earlier` (or the start) in which the carrier ran tasks, 0…1.
double busy_share(const Statistics& now, const Statistics* earlier, size_t carrier);

}  // namespace wisp
