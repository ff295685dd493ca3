# Finds the libtorch that a torch package of Python's, or an unpacked libtorch, holds. In this order:
#
#   Libtorch_ROOT      the folder with include/ and lib/
#   Torch_DIR          as find_package(Torch) leaves it
#   CMAKE_PREFIX_PATH  that folder, or what `python -c 'import torch; print(torch.utils.cmake_prefix_path)'` prints
#   Libtorch_HINTS     folders that whoever looks for it suggests
#   Python3_EXECUTABLE or the first python on PATH: its torch package
#
#   Libtorch::cpu      target: headers, libc10, libtorch_cpu
#   Libtorch::python   target: adds libtorch_python, if it is there
#   Libtorch_VERSION   of its headers
if(NOT Libtorch_ROOT)
  set(places)
  if(Torch_DIR)
    list(APPEND places ${Torch_DIR}/../../..)
  endif()
  string(REPLACE ":" ";" prefixes "$ENV{CMAKE_PREFIX_PATH}")
  foreach(prefix ${CMAKE_PREFIX_PATH} ${prefixes})
    list(APPEND places ${prefix} ${prefix}/../..)
  endforeach()
  foreach(place ${places} ${Libtorch_HINTS})
    if(EXISTS ${place}/include/ATen/core/ivalue.h AND EXISTS ${place}/lib)
      get_filename_component(Libtorch_ROOT ${place} REALPATH)
      break()
    endif()
  endforeach()
endif()
if(NOT Libtorch_ROOT)
  if(NOT Python3_EXECUTABLE)
    find_program(Python3_EXECUTABLE NAMES python python3)
  endif()
  if(Python3_EXECUTABLE)
    execute_process(
      # The second place is for builds that pip isolates: they hide the environment's packages, but not its folder.
      COMMAND ${Python3_EXECUTABLE} -c "
import importlib.util as u, os, sysconfig
spec = u.find_spec('torch')
print(spec.submodule_search_locations[0] if spec else os.path.join(sysconfig.get_path('platlib'), 'torch'))"
      OUTPUT_VARIABLE Libtorch_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(Libtorch_ROOT ${Libtorch_ROOT} CACHE PATH "Folder of libtorch: the torch package, or an unpacked libtorch")

find_path(Libtorch_INCLUDE_DIR ATen/core/ivalue.h PATHS ${Libtorch_ROOT}/include NO_DEFAULT_PATH)
find_library(Libtorch_CPU_LIBRARY torch_cpu PATHS ${Libtorch_ROOT}/lib NO_DEFAULT_PATH)
find_library(Libtorch_C10_LIBRARY c10 PATHS ${Libtorch_ROOT}/lib NO_DEFAULT_PATH)
find_library(Libtorch_PYTHON_LIBRARY torch_python PATHS ${Libtorch_ROOT}/lib NO_DEFAULT_PATH)
mark_as_advanced(Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_PYTHON_LIBRARY)

set(Libtorch_VERSION)
if(EXISTS ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h line REGEX "define TORCH_VERSION_${part} ")
    string(REGEX REPLACE ".* " "" number "${line}")
    list(APPEND Libtorch_VERSION ${number})
  endforeach()
  list(JOIN Libtorch_VERSION "." Libtorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "Give -DLibtorch_ROOT=<folder> (with include/ and lib/), put torch.utils.cmake_prefix_path into CMAKE_PREFIX_PATH, or have a Python with torch first on PATH (./dev setup makes one).")

if(Libtorch_FOUND AND NOT TARGET Libtorch::cpu)
  add_library(Libtorch::cpu INTERFACE IMPORTED)
  target_include_directories(Libtorch::cpu SYSTEM INTERFACE ${Libtorch_INCLUDE_DIR})
  target_compile_definitions(Libtorch::cpu INTERFACE AT_PER_OPERATOR_HEADERS)
  # Kernels register themselves when the library loads, so it must not be dropped as unneeded.
  target_link_libraries(Libtorch::cpu INTERFACE
    -Wl,--push-state,--no-as-needed ${Libtorch_CPU_LIBRARY} ${Libtorch_C10_LIBRARY} -Wl,--pop-state)
  if(Libtorch_PYTHON_LIBRARY)
    add_library(Libtorch::python INTERFACE IMPORTED)
    target_link_libraries(Libtorch::python INTERFACE Libtorch::cpu ${Libtorch_PYTHON_LIBRARY})
  endif()
endif()
