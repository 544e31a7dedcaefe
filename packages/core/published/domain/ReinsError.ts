export * from "@reins/base/domain/ReinsError"
