import type { ErrorCode } from "./ReinsError.js"

/**
 * The errors of operations besides those that every operation of its sort shares, such as `unauthenticated`. Each room lists its own, as
 * `group.endpoint`. An operation that can fail with another code does not compile, and an answer that is not listed fails the tests of the contract.
 */
export type OperationErrors = Readonly<Record<string, ReadonlyArray<ErrorCode>>>
