import type { ErrorCode } from "@reins/base/domain/ReinsError"
import type { Types } from "effect"
import { type Contract, contracts } from "./Contracts.js"

/** The errors of every operation, as the rooms list them. No two rooms have an operation in common. */
export const operationErrors: Types.UnionToIntersection<Contract["errors"]> = Object.assign(
  {},
  ...contracts.map(({ errors }) => errors)
)

/** An operation, as `group.endpoint`. */
export type OperationName = keyof typeof operationErrors

/** The codes that the service behind an operation can fail with. */
export type ErrorsOf<Name extends string> = Name extends OperationName
  ? (typeof operationErrors)[Name][number]
  : ErrorCode
