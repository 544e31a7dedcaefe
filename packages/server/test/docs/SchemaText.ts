import { SchemaAST as AST, Option, type Schema } from "effect"
import { table } from "./Markdown.js"

/** A field of a JSON object, in words. */
export interface Field {
  readonly name: string
  readonly type: string
  readonly isOptional: boolean
  readonly description: string | undefined
}

/** The fields of a schema of objects, as they are on the wire. */
export const fieldsOf = (schema: Schema.Schema.AnyNoContext): ReadonlyArray<Field> => {
  // A field with a default has its description on the side of the program.
  const decoded = new Map(AST.getPropertySignatures(AST.typeAST(schema.ast)).map((field) => [field.name, field]))
  return AST.getPropertySignatures(AST.encodedBoundAST(schema.ast)).map((field) => ({
    name: String(field.name),
    type: typeText(field.type),
    isOptional: field.isOptional,
    description: descriptionOf(field) ?? descriptionOf(decoded.get(field.name))
  }))
}

const descriptionOf = (field: AST.PropertySignature | undefined): string | undefined =>
  field === undefined
    ? undefined
    : (Option.getOrUndefined(AST.getDescriptionAnnotation(field)) ?? describedBy(field.type))

/** The library's own words for a type, which the column beside it says too. */
const ofItself = /^an? (?:string|number|integer|boolean|non empty string)\b/

const describedBy = (ast: AST.AST): string | undefined => {
  const own = Option.getOrUndefined(AST.getDescriptionAnnotation(ast))
  if (own !== undefined && !ofItself.test(own)) return own
  if (AST.isRefinement(ast)) return describedBy(ast.from)
  if (AST.isTransformation(ast)) return describedBy(ast.from)
  return AST.isUnion(ast) ? ast.types.map(describedBy).find((each) => each !== undefined) : undefined
}

/** The type of a value in words, as in "string or null", or the values themselves where they are few. */
const typeText = (ast: AST.AST): string => {
  const identifier = Option.getOrUndefined(AST.getIdentifierAnnotation(ast))
  if (identifier !== undefined && AST.isTypeLiteral(ast)) return `[${identifier}]`
  switch (ast._tag) {
    case "StringKeyword":
    case "TemplateLiteral":
      return "string"
    case "NumberKeyword":
      return "number"
    case "BooleanKeyword":
      return "boolean"
    case "UnknownKeyword":
    case "AnyKeyword":
      return "any JSON"
    case "Literal":
      return ast.literal === null ? "null" : `\`${String(ast.literal)}\``
    case "Refinement":
      return identifier === "Int" ? "integer" : (idText(ast) ?? typeText(ast.from))
    case "Transformation":
      return typeText(ast.from)
    case "Union":
      return oneOf(ast.types.filter((type) => !AST.isUndefinedKeyword(type)).map(typeText))
    case "TupleType":
      return `list of ${ast.rest.map(({ type }) => typeText(type)).join(" or ")}`
    case "TypeLiteral":
      return ast.propertySignatures.length === 0
        ? "object"
        : `{ ${ast.propertySignatures.map((each) => `${String(each.name)}: ${typeText(each.type)}`).join(", ")} }`
    default:
      throw new Error(`There are no words for ${ast._tag}`)
  }
}

/** As many stand in a sentence. More of them are a list, with a middle dot between its items. */
const mostInSentence = 20

/** Types in words, `null` last. */
const oneOf = (texts: ReadonlyArray<string>): string => {
  const names = [...new Set(texts.filter((text) => text !== "null"))]
  if (texts.includes("null")) names.push("null")
  if (names.length > mostInSentence) return names.join(" · ")
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`
}

/** An id by its prefix, and a time; undefined for other texts. */
const idText = (ast: AST.Refinement): string | undefined => {
  const { format, pattern }: { format?: unknown; pattern?: unknown } = Option.getOrElse(
    AST.getJSONSchemaAnnotation(ast),
    () => ({})
  )
  if (format === "date-time") return "time"
  const prefix = /^\^([a-z]+)_\[0-7\]/.exec(String(pattern))?.[1]
  return prefix === undefined ? undefined : `id, as \`${prefix}_...\``
}

/** The fields of a schema as a table. Descriptions are there where the schema has them. */
export const fieldTable = (schema: Schema.Schema.AnyNoContext): string => {
  const fields = fieldsOf(schema)
  const isDescribed = fields.some(({ description }) => description !== undefined)
  return table(
    ["Field", "Type", ...(isDescribed ? ["What it is"] : [])],
    fields.map(({ description, isOptional, name, type }) => [
      `\`${name}\`${isOptional ? ", may be absent" : ""}`,
      type,
      ...(isDescribed ? [description ?? ""] : [])
    ])
  )
}
