export * from "@reins/base/base/Boot"
