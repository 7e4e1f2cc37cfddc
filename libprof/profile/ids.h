// The indices of a Profile's tables.
#pragma once

#include "base/id.h"

namespace fbleprof::profile {

using StringId = Id<struct StringTag>;
using ProcessId = Id<struct ProcessTag>;
using ThreadId = Id<struct ThreadTag>;
using TreeId = Id<struct TreeTag>;
using ModuleId = Id<struct ModuleTag>;
using FunctionId = Id<struct FunctionTag>;
using GroupId = Id<struct GroupTag>;
using SiteId = Id<struct SiteTag>;
using NodeId = Id<struct NodeTag>;
using EdgeId = Id<struct EdgeTag>;
using MetricId = Id<struct MetricTag>;
using LabelSetId = Id<struct LabelSetTag>;

}  // namespace fbleprof::profile
