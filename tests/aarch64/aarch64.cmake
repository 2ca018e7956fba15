# ctest entry for the cross build: include()d by the folder above.
add_test(NAME aarch64 COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh ${CMAKE_BINARY_DIR}/aarch64)
set_tests_properties(aarch64 PROPERTIES
  LABELS aarch64 SKIP_RETURN_CODE 77 TIMEOUT 900 RUN_SERIAL ON)
