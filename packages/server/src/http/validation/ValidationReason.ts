// The words of pydantic for the faults of a value. `Validation.ts` says why a TypeScript server uses them.

import { SchemaAST as AST, Option } from "effect"

/** The fault of a value: `type`, `msg` and `ctx` as pydantic writes them. */
export interface Reason {
  readonly type: string
  readonly msg: string
  readonly ctx?: Readonly<Record<string, unknown>>
  /** Names the alternative of a union that the reason is about. */
  readonly tag?: string
}

export const isMissing: Reason = { type: "missing", msg: "Field required" }
export const dictType: Reason = { type: "dict_type", msg: "Input should be a valid dictionary" }
export const intType: Reason = { type: "int_type", msg: "Input should be a valid integer" }

/** A whole number that JSON programs cannot hold exactly. */
export const wholeNumberTooLarge: Reason = {
  type: "int_parsing_size",
  msg: `Whole numbers beyond ${Number.MAX_SAFE_INTEGER} lose digits: send a smaller one, or a string where one fits`
}

export const typeReasons = (ast: AST.AST, isPart: boolean): ReadonlyArray<Reason> => {
  switch (ast._tag) {
    case "StringKeyword":
    case "TemplateLiteral":
      return [{ type: "string_type", msg: "Input should be a valid string" }]
    case "NumberKeyword":
      return [{ type: "float_type", msg: "Input should be a valid number" }]
    case "BooleanKeyword":
      return [{ type: "bool_type", msg: "Input should be a valid boolean" }]
    case "TupleType":
      return [{ type: "list_type", msg: "Input should be a valid list" }]
    case "TypeLiteral":
      return [
        isPart || ast.propertySignatures.length === 0
          ? dictType
          : {
              type: "model_attributes_type",
              msg: "Input should be a valid dictionary or object to extract fields from"
            }
      ]
    case "Literal":
    case "Enums":
      return [literalReason(ast)]
    case "Union": {
      if (literalsOf(ast) !== undefined) return [literalReason(ast)]
      const members = ast.types.filter((member) => !isNothing(member))
      const reasons = members.map((member) => typeReasons(member, isPart))
      return members.length === 1
        ? reasons.flat()
        : members.flatMap((member, index) =>
            (reasons[index] ?? []).map((reason) => ({ ...reason, tag: nameOf(member) }))
          )
    }
    case "Refinement":
      return isInteger(ast) ? [intType] : typeReasons(ast.from, isPart)
    case "Transformation":
      return typeReasons(ast.from, isPart)
    case "Suspend":
      return typeReasons(ast.f(), isPart)
    case "UndefinedKeyword":
    case "VoidKeyword":
      return [{ type: "none_required", msg: "Input should be None" }]
    default:
      return [valueError("This value is not valid here")]
  }
}

export const refinementReason = (ast: AST.Refinement, actual: unknown): Reason => {
  const message = Option.getOrUndefined(AST.getMessageAnnotation(ast))
  if (message !== undefined) return valueError(messageText(message, ast, actual))
  const rule: Rule = { ...Option.getOrUndefined(AST.getJSONSchemaAnnotation(ast)) }
  const broken =
    typeof actual === "string"
      ? brokenText(rule, actual)
      : typeof actual === "number"
        ? brokenNumber(rule, actual)
        : Array.isArray(actual)
          ? brokenList(rule, actual.length)
          : undefined
  return broken ?? valueError("This value is not valid here")
}

/** The part of a refinement's JSON Schema that says what a value has to keep to. */
interface Rule {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}

const brokenText = (rule: Rule, actual: string): Reason | undefined => {
  if (rule.minLength !== undefined && actual.length < rule.minLength) {
    const { minLength } = rule
    return {
      type: "string_too_short",
      msg: `String should have at least ${count(minLength, "character")}`,
      ctx: { min_length: minLength }
    }
  }
  if (rule.maxLength !== undefined) {
    const { maxLength } = rule
    return {
      type: "string_too_long",
      msg: `String should have at most ${count(maxLength, "character")}`,
      ctx: { max_length: maxLength }
    }
  }
  if (rule.pattern !== undefined) {
    const { pattern } = rule
    return { type: "string_pattern_mismatch", msg: `String should match pattern '${pattern}'`, ctx: { pattern } }
  }
  if (rule.format !== "date-time") return undefined
  const error = "expected RFC 3339 in UTC with milliseconds, as in 2026-01-31T12:00:00.000Z"
  return { type: "datetime_parsing", msg: `Input should be a valid datetime, ${error}`, ctx: { error } }
}

const brokenNumber = (rule: Rule, actual: number): Reason | undefined => {
  const compared = (type: string, words: string, key: string, bound: number): Reason => ({
    type,
    msg: `Input should be ${words} ${bound}`,
    ctx: { [key]: bound }
  })
  if (rule.minimum !== undefined && actual < rule.minimum)
    return compared("greater_than_equal", "greater than or equal to", "ge", rule.minimum)
  if (rule.maximum !== undefined) return compared("less_than_equal", "less than or equal to", "le", rule.maximum)
  if (rule.exclusiveMinimum !== undefined && actual <= rule.exclusiveMinimum)
    return compared("greater_than", "greater than", "gt", rule.exclusiveMinimum)
  if (rule.exclusiveMaximum !== undefined) return compared("less_than", "less than", "lt", rule.exclusiveMaximum)
  if (rule.multipleOf !== undefined) return compared("multiple_of", "a multiple of", "multiple_of", rule.multipleOf)
  if (Number.isInteger(actual) && !Number.isSafeInteger(actual)) return wholeNumberTooLarge
  return rule.type === "integer"
    ? { type: "int_from_float", msg: "Input should be a valid integer, got a number with a fractional part" }
    : undefined
}

const brokenList = (rule: Rule, length: number): Reason | undefined => {
  if (rule.minItems !== undefined && length < rule.minItems)
    return listLength("too_short", "at least", rule.minItems, length)
  return rule.maxItems === undefined ? undefined : listLength("too_long", "at most", rule.maxItems, length)
}

const messageText = (message: AST.MessageAnnotation, ast: AST.Refinement, actual: unknown): string => {
  const text = message({ _tag: "Type", ast, actual, message: undefined })
  return typeof text === "string"
    ? text
    : "message" in text && typeof text.message === "string"
      ? text.message
      : "This value is not valid here"
}

const listLength = (type: string, words: string, bound: number, actual: number): Reason => ({
  type,
  msg: `List should have ${words} ${count(bound, "item")} after validation, not ${actual}`,
  ctx: { field_type: "List", [type === "too_short" ? "min_length" : "max_length"]: bound, actual_length: actual }
})

export const tooShort = (ast: AST.TupleType, actual: unknown): Reason | undefined => {
  const required = ast.elements.filter((element) => !element.isOptional).length
  return Array.isArray(actual) && actual.length < required
    ? listLength("too_short", "at least", required, actual.length)
    : undefined
}

export const valueError = (message: string): Reason => ({
  type: "value_error",
  msg: `Value error, ${message}`,
  ctx: { error: {} }
})

export const literalReason = (ast: AST.AST): Reason => {
  const shown = (literalsOf(ast) ?? []).map(literalText)
  const last = shown.at(-1) ?? ""
  const expected = shown.length > 1 ? `${shown.slice(0, -1).join(", ")} or ${last}` : last
  return { type: "literal_error", msg: `Input should be ${expected}`, ctx: { expected } }
}

/** The values that a literal, or a union of nothing but literals and null, allows. */
export const literalsOf = (ast: AST.AST): ReadonlyArray<AST.LiteralValue> | undefined => {
  if (AST.isLiteral(ast)) return [ast.literal]
  if (AST.isEnums(ast)) return ast.enums.map(([, value]) => value)
  if (!AST.isUnion(ast)) return undefined
  const members = ast.types.filter((member) => !isNothing(member)).map(literalsOf)
  return members.length > 0 && members.every((member) => member !== undefined) ? members.flat() : undefined
}

const literalText = (value: AST.LiteralValue): string =>
  typeof value === "string"
    ? `'${value}'`
    : value === null
      ? "None"
      : value === true
        ? "True"
        : value === false
          ? "False"
          : String(value)

export const isNothing = (ast: AST.AST): boolean =>
  AST.isUndefinedKeyword(ast) || (AST.isLiteral(ast) && ast.literal === null)

export const isInteger = (ast: AST.AST): boolean =>
  AST.isRefinement(ast) &&
  (Option.exists(AST.getJSONSchemaAnnotation(ast), (rule) => "type" in rule && rule.type === "integer") ||
    isInteger(ast.from))

export const nameOf = (ast: AST.AST): string => {
  const identifier = Option.getOrUndefined(AST.getIdentifierAnnotation(ast))
  if (identifier !== undefined) return identifier
  switch (ast._tag) {
    case "StringKeyword":
      return "str"
    case "NumberKeyword":
      return "float"
    case "BooleanKeyword":
      return "bool"
    case "TupleType":
      return `list[${ast.rest[0] === undefined ? "any" : nameOf(ast.rest[0].type)}]`
    case "Refinement":
      return isInteger(ast) ? "int" : nameOf(ast.from)
    case "Transformation":
      return nameOf(ast.from)
    case "TypeLiteral":
      return "dict"
    default:
      return "value"
  }
}

const count = (amount: number, thing: string): string => `${amount} ${thing}${amount === 1 ? "" : "s"}`
