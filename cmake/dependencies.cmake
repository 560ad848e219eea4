# What the library itself links. All of it is private: no public header includes a third-party header.

# heed_need(PACKAGE DEBIAN_PACKAGE ARG…): like find_package; where the package is missing, the message says
# what to install.
macro(heed_need package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "heed needs ${package}, which was not found; on Debian: apt-get install ${debian_package}")
  endif()
endmacro()

heed_need(HeedOpenBLAS libopenblas-pthread-dev MODULE)
heed_need(HeedPCRE2 libpcre2-dev MODULE)
heed_need(fmt libfmt-dev)
heed_need(hwy libhwy-dev)
heed_need(nlohmann_json nlohmann-json3-dev)
set(THREADS_PREFER_PTHREAD_FLAG ON)
heed_need(Threads libc6-dev)

# Training on several machines. AUTO: where MPI is found.
set(HEED_MPI AUTO CACHE STRING "Train on several machines through MPI: AUTO, ON or OFF")
set(heed_has_mpi OFF)
set(MPI_CXX_SKIP_MPICXX TRUE)
if(HEED_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
  set(heed_has_mpi ${MPI_CXX_FOUND})
elseif(HEED_MPI)
  heed_need(MPI "libopenmpi-dev openmpi-bin" COMPONENTS CXX)
  set(heed_has_mpi ON)
endif()
