export * from "@reins/machine/harness/Manifests"
