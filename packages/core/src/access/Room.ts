import { Access } from "./Access.js"

/** Who may do what in a workspace. */
export const access = {
  name: "access",
  layer: Access.layer
} as const
