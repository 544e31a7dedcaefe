import { canonicalJson } from "@reins/base/base/CanonicalJson"
import type { Ajv2020 } from "ajv/dist/2020.js"

/**
 * Makes a validator compare values by their JSON in `const`, `enum` and `uniqueItems`. Its own comparison calls `toString` and `valueOf` of objects,
 * and fails on values in which these are ordinary names.
 */
export const withEquality = (ajv: Ajv2020): Ajv2020 => {
  for (const { keyword, message, rule } of keywords) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({ keyword, errors: false, error: { message }, compile: rule })
  }
  return ajv
}

type Rule = (given: unknown) => (value: unknown) => boolean

const oneOf = (known: ReadonlyArray<unknown>): ReturnType<Rule> => {
  const texts = new Set(known.map(canonicalJson))
  return (value) => texts.has(canonicalJson(value))
}

const keywords: ReadonlyArray<{ readonly keyword: string; readonly message: string; readonly rule: Rule }> = [
  { keyword: "const", message: "must be equal to constant", rule: (given) => oneOf([given]) },
  {
    keyword: "enum",
    message: "must be equal to one of the allowed values",
    rule: (given) => {
      if (!Array.isArray(given) || given.length === 0) throw new Error("enum must have non-empty array")
      return oneOf(given)
    }
  },
  {
    keyword: "uniqueItems",
    message: "must NOT have duplicate items",
    rule: (given) => (value) =>
      given !== true || !Array.isArray(value) || new Set(value.map(canonicalJson)).size === value.length
  }
]
