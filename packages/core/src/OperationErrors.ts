import { contracts, joined } from "./Contracts.js"
import type { ErrorCode } from "./domain/ReinsError.js"

/** The errors of every operation, as the rooms list them. */
export const operationErrors = joined(contracts.map(({ errors }) => errors))

/** An operation, as `group.endpoint`. */
export type OperationName = keyof typeof operationErrors

/** The codes that the service behind an operation can fail with. */
export type ErrorsOf<Name extends string> = Name extends OperationName
  ? (typeof operationErrors)[Name][number]
  : ErrorCode
