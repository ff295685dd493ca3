// doctest, after c10's logging macros: both define CHECK, and the later definition wins silently.
#pragma once

#include <c10/util/Logging.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT
#include <doctest/doctest.h>

#include <string_view>

/// Says what it looked in if it finds nothing.
inline bool contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return true;
  MESSAGE("in: ", text);
  return false;
}
