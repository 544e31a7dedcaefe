export * from "@reins/machine/harness/HarnessDriver"
