import { cutText } from "@reins/base/base/CutText"
import { InstalledFrom, installedCredentials } from "@reins/base/domain/Installed"
import type { InstalledNames } from "@reins/core/catalog/Installed"
import { SchemaAST as AST, type Schema } from "effect"
import type { Exchange } from "./Exchange.js"

/** Finds the fields of a value that its schema does not know and that decoding passes over, by their paths below `path`. */
export type FindUnknown = (value: unknown, path: string) => ReadonlyArray<string>

/** The fields that a schema knows, with those of the values in them; undefined for a value that may have any field or has none. */
interface Known {
  readonly fields: ReadonlyMap<string, Known | undefined> | undefined
  readonly items: Known | undefined
}

/** Prepares the search once. It costs one look-up for each field of a value, and does not look into texts. */
export const unknownFieldsOf = (
  schema: Schema.Schema.All,
  installed: Pick<InstalledNames, "credentials">
): FindUnknown => {
  const known = knownTo(schema.ast, installed)
  return (value, path) => {
    const found: Array<string> = []
    look(found, value, known, path)
    return found
  }
}

const look = (found: Array<string>, value: unknown, known: Known | undefined, path: string): void => {
  if (known === undefined || typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    if (known.items === undefined) return
    for (const [index, item] of value.entries()) look(found, item, known.items, `${path}.${index}`)
    return
  }
  if (known.fields === undefined) return
  for (const [name, field] of Object.entries(value)) {
    const next = known.fields.get(name)
    if (next !== undefined) look(found, field, next, `${path}.${name}`)
    else if (!known.fields.has(name)) found.push(`${path}.${name}`)
  }
}

/** Names what was passed over in a header of the answer, whatever the answer is. */
export const tellUnknown = ({ headers }: Exchange, fields: ReadonlyArray<string>): void => {
  if (fields.length === 0) return
  const told = headers[header]
  const names = fields.slice(0, most).map(written)
  headers[header] = told === undefined ? names.join(", ") : `${told}, ${names.join(", ")}`
}

const header = "reins-unknown-fields"

const most = 10

/** Names come from anywhere, and a header takes few characters. */
const written = (name: string): string => encodeURIComponent(Buffer.from(cutText(name, 200)).toString())

/** The same for the parameters of a query. */
export const unknownParameters = (
  known: ReadonlySet<string>,
  given: Readonly<Record<string, string>>
): ReadonlyArray<string> => {
  const unknown = Object.keys(given).filter((name) => !known.has(name))
  return unknown.map((name) => `query.${name}`)
}

/** The names of the fields that the encoded side of a schema has. */
export const namesOf = (schema: Schema.Schema.All): ReadonlySet<string> =>
  new Set(AST.getPropertySignatures(AST.encodedAST(schema.ast)).map(({ name }) => String(name)))

const knownTo = (ast: AST.AST, installed: Pick<InstalledNames, "credentials">): Known | undefined => {
  const within = (inner: AST.AST) => knownTo(inner, installed)
  if (ast.annotations[InstalledFrom] === installedCredentials) return credentialFields(installed)
  switch (ast._tag) {
    case "TypeLiteral":
      return ast.indexSignatures.length > 0
        ? undefined
        : {
            fields: new Map(ast.propertySignatures.map(({ name, type }) => [String(name), within(type)])),
            items: undefined
          }
    case "TupleType": {
      const [rest] = ast.rest
      const items = rest === undefined ? undefined : within(rest.type)
      return items === undefined ? undefined : { fields: undefined, items }
    }
    case "Union":
      return merged(ast.types.map(within))
    case "Refinement":
    case "Transformation":
      return within(ast.from)
    default:
      return undefined
  }
}

/** A field is known when one of several schemas knows it. */
const merged = (all: ReadonlyArray<Known | undefined>): Known | undefined =>
  all.reduce(
    (one, other) =>
      one === undefined || other === undefined
        ? (one ?? other)
        : {
            fields:
              one.fields === undefined || other.fields === undefined
                ? (one.fields ?? other.fields)
                : new Map([...one.fields, ...other.fields]),
            items: merged([one.items, other.items])
          },
    undefined
  )

/** The kind of a connection is in another place than its credential, so what one of the kinds knows is known. */
const credentialFields = ({ credentials }: Pick<InstalledNames, "credentials">): Known | undefined => {
  const schemas = Object.values(credentials)
  if (schemas.includes(undefined)) return undefined
  const names = schemas.flatMap((schema) => (schema === undefined ? [] : [...namesOf(schema)]))
  return { fields: new Map(names.map((name) => [name, undefined])), items: undefined }
}
