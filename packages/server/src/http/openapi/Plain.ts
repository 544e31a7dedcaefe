import { defaultKeyword, installedKeyword } from "@reins/base/domain/Installed"
import type { InstalledNames } from "@reins/core/catalog/Installed"
import { Predicate } from "effect"
import { fieldsOf, type Json } from "./Json.js"

/** The same JSON without texts that repeat the keywords beside them in English. */
export const plain = (value: object, installed: InstalledNames): Json => fieldsOf(cleaned(value, installed))

const cleaned = (value: unknown, installed: InstalledNames): unknown => {
  if (Array.isArray(value)) return value.map((item) => cleaned(item, installed))
  if (!Predicate.isRecord(value)) return value
  if (value["$ref"] === "#/components/schemas/Int") return { type: "integer" }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !isNoise(name, inner))
      .map(([name, inner]) => namesOf(installed, name, inner) ?? [name, cleaned(inner, installed)])
  )
}

/** The standard keyword instead of one of ours, with the names of the installation. */
const namesOf = ({ defaults, lists }: InstalledNames, keyword: string, list: unknown) => {
  const valueIn = (fields: Json) => (typeof list === "string" ? fields[list] : undefined)
  if (keyword === installedKeyword) return ["enum", valueIn(lists)] as const
  return keyword === defaultKeyword ? (["default", valueIn(defaults)] as const) : undefined
}

const isNoise = (name: string, value: unknown): boolean =>
  (name === "required" && Array.isArray(value) && value.length === 0) ||
  (name === "properties" && Predicate.isRecord(value) && Object.keys(value).length === 0) ||
  (typeof value === "string" &&
    (name === "$id" ||
      (name === "title" && /^\w+(?:\(.*\))?$/.test(value) && value !== "Reins") ||
      (name === "description" &&
        /^(?:an? (?:string|number|integer|positive|non)|a(?:n?) .* (?:long|pattern))/.test(value))))
