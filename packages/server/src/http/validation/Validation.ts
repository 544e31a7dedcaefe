// A TypeScript server answers like pydantic here because the API promises the validation errors of FastAPI: clients that were made for that
// form read `detail`, `loc`, `msg` and `type` as they are.

import { field } from "@reins/base/domain/Field"
import { QueryFailure } from "@reins/base/domain/Query"
import { SchemaAST as AST, type ParseResult, Predicate, Schema } from "effect"
import { echoed, echoedText } from "./EchoedInput.js"
import * as Reason from "./ValidationReason.js"

/** One fault of a request, in FastAPI's form. `loc` begins with `path`, `query`, `header` or `body`. */
export const ValidationError = Schema.Struct({
  loc: field(
    Schema.Array(Schema.Union(Schema.String, Schema.Int)),
    "Where the fault is: `path`, `query`, `header` or `body`, then the names and indexes that lead to it."
  ),
  msg: field(Schema.String, "A sentence for people: what is wrong."),
  type: field(Schema.String, "What is wrong, for programs, as in `missing` or `int_parsing`."),
  input: field(Schema.optionalWith(Schema.Unknown, { exact: true }), "What was given there, secrets masked."),
  ctx: field(
    Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), { exact: true }),
    "The limits that were missed, as in `max_length`."
  )
}).annotations({ identifier: "ValidationError", description: "One fault of a request." })
export type ValidationError = typeof ValidationError.Type

/** The answer to a malformed request, with status 422. */
export const HTTPValidationError = Schema.Struct({
  detail: field(
    Schema.optionalWith(Schema.Array(ValidationError), { exact: true }),
    "The faults, in the order of the parts of the request."
  )
}).annotations({
  identifier: "HTTPValidationError",
  description:
    "What is wrong with the request, up to 100 errors for each of path, query, header and body. `input` is what was given: fields that hold " +
    "secrets are masked, and of a value beyond 4,096 characters the first members are shown, with `…` where a text was cut."
})
export type HTTPValidationError = typeof HTTPValidationError.Type

export type Loc = ReadonlyArray<string | number>

/** The most faults that an answer lists for one part of a request. */
export const maxErrors = 100

const maxNameChars = 256

/**
 * A parse issue in the words of pydantic, in the order of the schema, up to 100 errors. `input` is the value that was given at `loc`,
 * as `echoed` shows it.
 */
export const toDetails = (loc: Loc, issue: ParseResult.ParseIssue, input: unknown): ReadonlyArray<ValidationError> =>
  failuresOf(issue, [], loc.length === 1)
    .slice(0, maxErrors)
    .map((failure) => detail(loc, failure, input))

/** The fault of a required part or field that is absent. */
export const missing = (loc: Loc, input: unknown): ValidationError =>
  detail(loc, { path: [], ...Reason.isMissing }, input)

/** The fault of a value that no schema shows, by a sentence. `input` is shown as it is. */
export const valueError = (loc: Loc, reason: string, input: unknown): ValidationError => ({
  ...Reason.valueError(reason),
  loc,
  input
})

interface Failure extends Reason.Reason {
  readonly path: Loc
}

const failuresOf = (issue: ParseResult.ParseIssue, path: Loc, isPart: boolean): ReadonlyArray<Failure> => {
  const at = (reason: Reason.Reason): ReadonlyArray<Failure> => [{ path, ...reason }]
  switch (issue._tag) {
    case "Pointer":
      return failuresOf(issue.issue, [...path, ...keysOf(issue.path)], isPart)
    case "Missing":
      return at(Reason.isMissing)
    case "Unexpected":
      return at({ type: "extra_forbidden", msg: "Extra inputs are not permitted" })
    case "Type":
      return issue.message === undefined
        ? Reason.typeReasons(issue.ast, isPart && path.length === 0).flatMap(at)
        : at(Reason.valueError(issue.message))
    case "Forbidden":
      return at(Reason.valueError(issue.message ?? "This cannot be checked here"))
    case "Transformation": {
      const failure = issue.kind === "Transformation" ? queryFailure(issue.ast) : undefined
      return failure === undefined ? failuresOf(issue.issue, path, isPart) : at(failure)
    }
    case "Refinement": {
      if (issue.kind === "From") {
        const failures = failuresOf(issue.issue, path, isPart)
        return Reason.isInteger(issue.ast)
          ? failures.map((failure) => (failure.type === "float_type" ? { ...failure, ...Reason.intType } : failure))
          : failures
      }
      return issue.issue._tag === "Type"
        ? at(Reason.refinementReason(issue.ast, issue.actual))
        : failuresOf(issue.issue, path, isPart)
    }
    case "Composite": {
      const issues = listOf(issue.issues)
      if (AST.isUnion(issue.ast)) return unionFailures(issue.ast, issues, path, isPart)
      const short = AST.isTupleType(issue.ast) ? Reason.tooShort(issue.ast, issue.actual) : undefined
      return short === undefined ? issues.flatMap((inner) => failuresOf(inner, path, isPart)) : at(short)
    }
  }
}

/**
 * The faults of the alternatives that the input fits in kind, because it was meant for one of those. When it fits none, every alternative is
 * named, as pydantic does.
 */
const unionFailures = (
  ast: AST.Union,
  issues: ReadonlyArray<ParseResult.ParseIssue>,
  path: Loc,
  isPart: boolean
): ReadonlyArray<Failure> => {
  if (Reason.literalsOf(ast) !== undefined) return [{ path, ...Reason.literalReason(ast) }]
  const alternatives = issues.filter((issue) => !(issue._tag === "Type" && Reason.isNothing(issue.ast)))
  const failures = alternatives.map((issue) => failuresOf(issue, path, isPart))
  const meant = failures.filter(
    (list) => !list.every((failure) => failure.path === path && kindTypes.has(failure.type))
  )
  const shown = meant.length > 0 ? meant : failures
  return shown.length > 1 && meant.length === 0
    ? alternatives.flatMap((issue, index) =>
        (failures[index] ?? []).map((failure) => ({ ...failure, tag: alternativeOf(issue) }))
      )
    : shown.flat()
}

const alternativeOf = (issue: ParseResult.ParseIssue): string => {
  switch (issue._tag) {
    case "Type":
    case "Refinement":
    case "Transformation":
      return Reason.nameOf(issue.ast)
    case "Composite":
      return Reason.nameOf(issue.ast)
    default:
      return "value"
  }
}

const kindTypes: ReadonlySet<string> = new Set([
  "string_type",
  "int_type",
  "float_type",
  "bool_type",
  "list_type",
  "dict_type",
  "model_attributes_type",
  "none_required"
])

const queryFailure = (ast: AST.AST): Reason.Reason | undefined => {
  const failure = ast.annotations[QueryFailure]
  return Predicate.isRecord(failure) && typeof failure.type === "string" && typeof failure.msg === "string"
    ? { type: failure.type, msg: failure.msg }
    : undefined
}

const keysOf = (path: ParseResult.Path): Loc => listOf(path).map((key) => (typeof key === "number" ? key : String(key)))

const listOf = <A>(items: ParseResult.SingleOrNonEmpty<A>): ReadonlyArray<A> => (isList(items) ? items : [items])

const isList = <A>(items: ParseResult.SingleOrNonEmpty<A>): items is readonly [A, ...Array<A>] => Array.isArray(items)

const detail = (loc: Loc, failure: Failure, root: unknown): ValidationError => {
  const full = [...loc, ...failure.path]
  const isAbsent = failure.type === "missing"
  const given =
    isAbsent && loc[0] !== "body" ? null : valueAt(root, isAbsent ? failure.path.slice(0, -1) : failure.path)
  return {
    type: failure.type,
    loc: (failure.tag === undefined ? full : [...full, failure.tag]).map(shortName),
    msg: failure.msg,
    input: echoed(full, given),
    ...(failure.ctx && { ctx: failure.ctx })
  }
}

const shortName = (key: string | number): string | number =>
  typeof key === "string" ? echoedText(key, maxNameChars) : key

const valueAt = (root: unknown, path: Loc): unknown => {
  let value = root
  for (const key of path) {
    if (typeof value !== "object" || value === null) return null
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value ?? null
}
