export * from "@reins/machine/executor/Executors"
