# Makes the patched copy of core and simreactor that the planted build compiles.
#
#   cmake -DSOURCE=… -DDESTINATION=… -P ApplyPlanted.cmake
#
# Every patch of properties/planted is applied, one after another, to a fresh copy; one that no longer applies fails the build and is
# renewed with the change that moved it. Files whose content did not change keep their time, so that only what a patch or an edit
# touched is compiled again.
foreach(variable SOURCE DESTINATION)
  if(NOT ${variable})
    message(FATAL_ERROR "ApplyPlanted: -D${variable}=… is missing")
  endif()
endforeach()

set(staging "${DESTINATION}.staging")
file(REMOVE_RECURSE "${staging}")
foreach(folder core simreactor)
  file(COPY "${SOURCE}/${folder}" DESTINATION "${staging}")
endforeach()

find_program(patch_program patch REQUIRED)
file(GLOB patches "${SOURCE}/properties/planted/*.patch")
list(SORT patches)
foreach(patch IN LISTS patches)
  execute_process(COMMAND "${patch_program}" -p1 --quiet --no-backup-if-mismatch --fuzz=0 -i "${patch}"
    WORKING_DIRECTORY "${staging}" RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${patch} no longer applies; renew it with the change that moved it:\n${text}")
  endif()
endforeach()

file(GLOB_RECURSE files RELATIVE "${staging}" "${staging}/*")
foreach(file IN LISTS files)
  get_filename_component(folder "${DESTINATION}/${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(COPY_FILE "${staging}/${file}" "${DESTINATION}/${file}" ONLY_IF_DIFFERENT)
endforeach()
file(REMOVE_RECURSE "${staging}")
