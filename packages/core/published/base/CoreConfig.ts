export * from "@reins/base/base/CoreConfig"
