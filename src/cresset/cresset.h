// Cresset's C++ interface in one include: modules, compilation units, loading, errors.
#pragma once

#include "cresset/module/module.h"
#include "cresset/support/error.h"
#include "cresset/support/print_handler.h"
