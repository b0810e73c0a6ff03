# The manual page and the shells' completions, as the built forerun prints them, installed where man, bash, zsh and fish look.
# SPDX-License-Identifier: Apache-2.0

# forerun_prints(file folder argument...): `forerun argument...` becomes a file of that name in that installed folder.
function(forerun_prints file folder)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/shell/${folder}/${file})
  add_custom_command(OUTPUT ${path} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/shell/${folder}
                     COMMAND forerun ${ARGN} > ${path} DEPENDS forerun VERBATIM)
  set_property(GLOBAL APPEND PROPERTY forerun_shell_files ${path})
  install(FILES ${path} DESTINATION ${folder})
endfunction()

forerun_prints(forerun.1 ${CMAKE_INSTALL_MANDIR}/man1 help --man)
forerun_prints(forerun ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
forerun_prints(_forerun ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
forerun_prints(forerun.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)

get_property(shell_files GLOBAL PROPERTY forerun_shell_files)
add_custom_target(forerun_shell_files ALL DEPENDS ${shell_files})
