# The library of forerun/forerun.h for other programs: find_package(forerun), forerun::forerun. Headers that it includes are
# installed below include/forerun, so that they find one another by the paths they have here.
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

forerun_floor(forerun_library forerun sim_studies reports core_config)
target_compile_definitions(forerun_library PRIVATE FORERUN_INSTALLED_DATA="${CMAKE_INSTALL_FULL_DATADIR}/forerun")
target_include_directories(forerun_library PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/forerun>)
set_target_properties(forerun_library PROPERTIES EXPORT_NAME forerun)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/forerun)
install(TARGETS forerun_library sim_studies sim reports core_config core_plan core_result core_trace core_spec core_base
        EXPORT forerun COMPONENT library ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/forerun COMPONENT library)
install(EXPORT forerun NAMESPACE forerun:: DESTINATION ${package} COMPONENT library)
install(FILES forerun/forerun.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/forerun COMPONENT library)
foreach(folder base spec trace result)
  install(DIRECTORY core/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/forerun/core COMPONENT library FILES_MATCHING PATTERN "*.h")
endforeach()

configure_package_config_file(cmake/forerunConfig.cmake.in ${PROJECT_BINARY_DIR}/forerunConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/forerunConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/forerunConfig.cmake ${PROJECT_BINARY_DIR}/forerunConfigVersion.cmake DESTINATION ${package}
        COMPONENT library)
