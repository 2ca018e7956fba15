# Tests of the linked libwisp.so as a file, for ctest: include()d by the folder above.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(name exports linkage imports)
  add_test(NAME library.${name}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/${name}_test.py $<TARGET_FILE:libwisp>)
  set_tests_properties(library.${name} PROPERTIES LABELS library TIMEOUT 240 SKIP_RETURN_CODE 77)
endforeach()
foreach(name package starts)
  add_test(NAME library.${name}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/${name}_test.sh ${CMAKE_BINARY_DIR})
  set_tests_properties(library.${name} PROPERTIES LABELS library TIMEOUT 240 SKIP_RETURN_CODE 77)
endforeach()
