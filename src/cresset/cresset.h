// Cresset's C++ interface in one include: modules, compilation units, loading, saving, tracing, limits, options,
// errors, what scripts print. torch_jit.h has the same under torch::jit's names.
#pragma once

#include "cresset/archive/archive.h"
#include "cresset/archive/save.h"
#include "cresset/executor/mode.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/parser.h"
#include "cresset/module/compilation_unit.h"
#include "cresset/module/freeze.h"
#include "cresset/module/module.h"
#include "cresset/module/object.h"
#include "cresset/module/pickle.h"
#include "cresset/module/trace.h"
#include "cresset/ops/limits.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"
#include "cresset/support/print_handler.h"
