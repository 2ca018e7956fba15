# Unit tests of runtime/coroutine: include()d by the folder above.
set(dir ${CMAKE_CURRENT_LIST_DIR})
if(NOT TARGET GTest::gtest)
  find_package(GTest REQUIRED)
endif()
include(GoogleTest)

# Loaded by the tests with dlopen: one with TLS of the general model, one in static TLS.
foreach(model global-dynamic initial-exec)
  add_library(wisp_tls_module_${model} MODULE ${dir}/coroutine_tls_module.cpp)
  target_compile_features(wisp_tls_module_${model} PRIVATE cxx_std_20)
  target_compile_options(wisp_tls_module_${model} PRIVATE -ftls-model=${model})
endforeach()

add_executable(wisp_coroutine_test
  ${dir}/coroutine_main.cpp
  ${dir}/coroutine_switch_test.cpp
  ${dir}/coroutine_stack_test.cpp
  ${dir}/coroutine_thread_block_test.cpp
  ${dir}/coroutine_key_test.cpp
  ${dir}/coroutine_tls_module_test.cpp
  ${dir}/coroutine_stress_test.cpp)
target_link_libraries(wisp_coroutine_test PRIVATE wisp_coroutine GTest::gtest ${CMAKE_DL_LIBS})
target_compile_options(wisp_coroutine_test PRIVATE -Wall -Wextra)
wisp_sanitized(wisp_coroutine_test)
target_compile_definitions(wisp_coroutine_test PRIVATE
  WISP_DYNAMIC_TLS_MODULE="$<TARGET_FILE:wisp_tls_module_global-dynamic>"
  WISP_STATIC_TLS_MODULE="$<TARGET_FILE:wisp_tls_module_initial-exec>")
add_dependencies(wisp_coroutine_test wisp_tls_module_global-dynamic wisp_tls_module_initial-exec)
gtest_discover_tests(wisp_coroutine_test PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
