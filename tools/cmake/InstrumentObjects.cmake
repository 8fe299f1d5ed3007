# Makes one object file of a target's instrumented ones: its calls of the allocator and of memcpy and its like go to heddle::hooks, and what
# the compiler emitted in every object that needs it stays inside.
#
#   cmake -DCXX=… -DNM=… -DOBJCOPY=… -DSYMBOLS=hooks.symbols -DOUT=all.o "-DOBJECTS=a.o,b.o" -P InstrumentObjects.cmake
#
# Inline functions and templates are emitted wherever they are used, and a linker keeps one of each: kept from here, the runtime itself
# would run an instrumented std::string, or its own functions with the hooks in them. So they become local. Their static variables stay
# what they are, one of each in the program.
foreach(variable CXX NM OBJCOPY SYMBOLS OUT OBJECTS)
  if(NOT ${variable})
    message(FATAL_ERROR "InstrumentObjects: -D${variable}=… is missing")
  endif()
endforeach()
string(REPLACE "," ";" objects "${OBJECTS}")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    file(REMOVE "${OUT}")
    message(FATAL_ERROR "${ARGV}\n${text}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CXX}" -r -nostdlib -Wl,--force-group-allocation -o "${OUT}" ${objects})
run("${NM}" --defined-only "${OUT}")
string(REGEX MATCHALL " W [^\n]+" weak "${output}")
list(TRANSFORM weak REPLACE "^ W " "")
string(REPLACE ";" "\n" weak "${weak}")
file(WRITE "${OUT}.local" "${weak}\n")
run("${OBJCOPY}" "--redefine-syms=${SYMBOLS}" "--localize-symbols=${OUT}.local" "${OUT}")
