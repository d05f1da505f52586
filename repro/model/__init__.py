"""The records that stages hand on: frozen, typed, each a file of the bundle or a part of one."""
