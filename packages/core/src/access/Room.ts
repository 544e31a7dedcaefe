import { Access } from "./Access.js"

/** The rights of members in a workspace. */
export const access = {
  name: "access",
  layer: Access.layer
} as const
