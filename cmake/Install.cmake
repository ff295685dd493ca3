# What `cmake --install` and the wheel contain. In a wheel everything lies inside the package's folder, so that
# find_package(Cresset) works with -DCMAKE_PREFIX_PATH=$(python -c 'import cresset; print(cresset.cmake_prefix_path)').
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
if(CRESSET_WHEEL)
  set(CMAKE_INSTALL_LIBDIR lib)
endif()
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Cresset)

install(TARGETS cresset EXPORT CressetTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cresset
  NAMELINK_COMPONENT cresset)
if(CRESSET_LLVM)  # beside libcresset, which opens them
  install(TARGETS cresset_kernels cresset_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cresset)
endif()
install(DIRECTORY src/cresset DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cresset
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN python EXCLUDE)
install(EXPORT CressetTargets NAMESPACE Cresset:: DESTINATION ${config_dir} COMPONENT cresset)
# Where the configuration looks for libtorch in the end: in a wheel, beside the package.
if(CRESSET_WHEEL)
  set(libtorch_hint ../torch)
else()
  set(libtorch_hint ${Libtorch_ROOT})
endif()
configure_package_config_file(cmake/CressetConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/CressetConfig.cmake
  INSTALL_DESTINATION ${config_dir} PATH_VARS libtorch_hint)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/CressetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/CressetConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/CressetConfigVersion.cmake
  cmake/FindLibtorch.cmake DESTINATION ${config_dir} COMPONENT cresset)
