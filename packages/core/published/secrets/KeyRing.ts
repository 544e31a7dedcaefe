export * from "@reins/base/secrets/KeyRing"
