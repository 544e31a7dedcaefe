import { SchemaAST as AST, Option, type Schema } from "effect"
import { fieldsOf, type Json, mapFields, referredBy } from "./Json.js"

/**
 * The components with what the schemas say of their fields. The JSON schemas of Effect lose the description of a field that refers to
 * another schema, and those of a struct with defaults.
 */
export const described = (components: Json, schemas: Iterable<Schema.Schema.All>): Json => {
  const found: Found = new Map()
  for (const { ast } of schemas) collect(ast, new Map(), found)
  return mapFields(components, (name, schema) => {
    const known = found.get(name)
    const own = known?.description
    return { ...(own !== undefined && { description: own }), ...withTexts(fieldsOf(schema), known?.texts) }
  })
}

/** The description of an inline schema alone, as `described` would have it. */
export const describedInline = (schema: Json, { ast }: Schema.Schema.All): Json => {
  const texts: Texts = new Map()
  collect(ast, texts, new Map())
  return withTexts(schema, texts)
}

/** The texts of the fields of a struct, and of the structs inside it that have no name. */
type Texts = Map<string, { readonly text: string | undefined; readonly inner: Texts }>

/** The schemas with a name, by it. */
type Found = Map<string, { readonly description: string | undefined; readonly texts: Texts }>

const collect = (ast: AST.AST, texts: Texts, found: Found): void => {
  const name = Option.getOrUndefined(AST.getIdentifierAnnotation(ast))
  if (name === undefined) collectParts(ast, texts, found)
  else if (!found.has(name)) {
    const own: Texts = new Map()
    found.set(name, { description: Option.getOrUndefined(AST.getDescriptionAnnotation(ast)), texts: own })
    collectParts(ast, own, found)
  }
}

const collectParts = (ast: AST.AST, texts: Texts, found: Found): void => {
  switch (ast._tag) {
    case "TypeLiteral":
      for (const signature of ast.propertySignatures) collectField(signature, signature, texts, found)
      for (const { type } of ast.indexSignatures) collect(type, new Map(), found)
      break
    case "Transformation":
      collectTransformed(ast, texts, found)
      break
    case "Refinement":
      collectParts(ast.from, texts, found)
      break
    case "Union":
      for (const type of ast.types) collect(type, texts, found)
      break
    case "TupleType":
      for (const { type } of ast.rest) collect(type, texts, found)
      break
    case "Suspend":
      collect(ast.f(), texts, found)
  }
}

/** A struct with defaults keeps its descriptions on the side of the values. */
const collectTransformed = (ast: AST.Transformation, texts: Texts, found: Found): void => {
  if (ast.transformation._tag !== "TypeLiteralTransformation" || ast.from._tag !== "TypeLiteral") {
    collect(ast.from, texts, found)
    return
  }
  const values = ast.to._tag === "TypeLiteral" ? ast.to.propertySignatures : []
  for (const signature of ast.from.propertySignatures)
    collectField(signature, values.find(({ name }) => name === signature.name) ?? signature, texts, found)
}

const collectField = (
  { name, type }: AST.PropertySignature,
  described: AST.Annotated,
  texts: Texts,
  found: Found
): void => {
  const inner: Texts = new Map()
  texts.set(String(name), { text: Option.getOrUndefined(AST.getDescriptionAnnotation(described)), inner })
  collect(type, inner, found)
}

const withTexts = (schema: Json, texts: Texts | undefined): Json => {
  if (texts === undefined || texts.size === 0) return schema
  if (Array.isArray(schema["anyOf"]))
    return { ...schema, anyOf: schema["anyOf"].map((each) => withTexts(fieldsOf(each), texts)) }
  if ("items" in schema) return { ...schema, items: withTexts(fieldsOf(schema["items"]), texts) }
  if (!("properties" in schema)) return schema
  return {
    ...schema,
    properties: mapFields(fieldsOf(schema["properties"]), (name, property) => {
      const known = texts.get(name)
      return known === undefined ? property : withText(withTexts(fieldsOf(property), known.inner), known.text)
    })
  }
}

/** The library's own words for the bounds of an array, which `minItems` and `maxItems` say too. */
const countsItems = /^an array of at (?:least|most) /

/** The description of the field comes first, then that of every value of its type. */
const withText = (property: Json, text: string | undefined): Json => {
  if (text === undefined) return property
  const name = referredBy(property)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}`, description: text }
  const { description: own, ...schema } = property
  const adds = typeof own === "string" && own !== text && !countsItems.test(own)
  return { ...schema, description: adds ? `${text} ${own}` : text }
}
