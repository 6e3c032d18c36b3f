# SPDX-License-Identifier: Apache-2.0
# The planner's solver: CLP, whose headers are needed here and whose library is loaded with the first plan (lp_clp.c), else
# lp_none.c, which says what is missing.
set(lp_source lp_none)
set(lp_includes "")
if(TRIB_PLAN)
    find_path(CLP_INCLUDE coin/Clp_C_Interface.h)
    mark_as_advanced(CLP_INCLUDE)
    if(CLP_INCLUDE)
        set(lp_source lp_clp)
        set(lp_includes ${CLP_INCLUDE})
    else()
        message(NOTICE "Solver of `tributary plan` left out: needs CLP (apt-get install coinor-libclp-dev)")
    endif()
endif()
file(GLOB plan_sources CONFIGURE_DEPENDS src/plan/*.c)
list(FILTER plan_sources EXCLUDE REGEX "/lp_(clp|none)\\.c$")
list(APPEND plan_sources ${PROJECT_SOURCE_DIR}/src/plan/${lp_source}.c)
