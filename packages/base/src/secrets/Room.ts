import { Vault } from "./Vault.js"

/** The key ring, and the vault that seals with it. */
export const secrets = {
  name: "secrets",
  layer: Vault.layer
} as const
