# make install and make package. The packages hold a static command and a library that needs libc
# alone (2.28 or newer), so they work on machines without a compiler. Debugging sections are left
# out, the symbol table stays: hs_err files and profilers name our frames by it.
include(GNUInstallDirs)

if(TARGET wisp AND TARGET libwisp)
  install(TARGETS wisp RUNTIME DESTINATION bin)
  # Not in lib itself: nobody links with it, and distributions sort that folder by architecture.
  # Where the command looks for it: launcher/jdk.cpp, own_library().
  install(TARGETS libwisp LIBRARY DESTINATION lib/wisp)
  install(FILES ${CMAKE_SOURCE_DIR}/docs/wisp.1 DESTINATION share/man/man1)
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/scripts/wisp-gdb.py
    DESTINATION share/doc/wisp)
  # As a whole: the pages link to each other.
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/wisp PATTERN wisp.1 EXCLUDE)
  # What `wisp bench` runs; laid out as in the checkout, so that the scripts find each other alike.
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/scripts/bench DESTINATION share/wisp/scripts)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/scripts/wisplib DESTINATION share/wisp/scripts
    FILES_MATCHING PATTERN "*.py" PATTERN "*.lua" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/java/bench/src DESTINATION share/wisp/java/bench)
  find_program(WISP_STRIP NAMES ${CMAKE_STRIP} strip)
  if(WISP_STRIP)
    install(CODE "execute_process(COMMAND ${WISP_STRIP} --strip-debug
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/wisp\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/wisp/libwisp.so\")")
  endif()
endif()

set(CPACK_PACKAGE_NAME wisp)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The Wisp project")
set(CPACK_PACKAGE_CONTACT "The Wisp project <wisp@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Java threads as coroutines, on an unmodified JDK")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ DEB)
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME wisp-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_PACKAGE_SECTION java)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "default-jre-headless")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Runs Java programs with their threads as coroutines: a preloaded library becomes the thread
 implementation of a stock HotSpot JVM (8 to 25). wisp java -XX:+UseWisp2 -jar app.jar")
include(CPack)
