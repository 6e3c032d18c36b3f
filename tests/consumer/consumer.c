/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c: a program that knows only the installed headers and library. It asks for a switch where none is, and must
 * get an error that names the cause. Built by tools/test_all.sh through pkg-config and through find_package. */
#include <stdio.h>
#include <string.h>
#include <tributary/tributary.h>

int main(void)
{
    struct trib_config config;
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    trib_config_init(&config);
    strcpy(config.switch_address, "127.0.0.1:1");
    config.join_timeout_ns = 200000000;
    enum trib_status status = trib_comm_create(&config, &comm, error);
    printf("tributary %s: %s: %s\n", trib_version(), trib_status_name(status), error);
    return status == TRIB_ERR_UNREACHABLE && error[0] != '\0' && comm == NULL ? 0 : 1;
}
