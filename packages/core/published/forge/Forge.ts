export * from "@reins/machine/forge/Forge"
