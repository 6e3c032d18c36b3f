# SPDX-License-Identifier: Apache-2.0
"""The name of the backend, for init_process_group and for messages."""
NAME = "tributary"
