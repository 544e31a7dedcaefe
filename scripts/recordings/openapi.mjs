// Takes operations out of a document of OpenAPI 3.0: their answers with the schemas that these need, in the words of JSON Schema.

/** The words of a schema that decide whether a value fits. All others are left out. */
const kept = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "enum",
  "format",
  "items",
  "nullable",
  "oneOf",
  "properties",
  "required",
  "type"
])

const formats = new Set(["date-time"])

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

const mapValues = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))

/** A schema of OpenAPI 3.0 says `nullable`, and one of JSON Schema says a type. `mayBeNull` tells of more that is null at times. */
const plain = (schema, mayBeNull, isProperty = false) => {
  if (!isObject(schema)) return schema
  const { nullable, ...taken } = Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      if (!kept.has(name) || (name === "format" && !formats.has(value))) return []
      if (name === "properties") return [[name, mapValues(value, (each) => plain(each, mayBeNull, true))]]
      if (["allOf", "anyOf", "oneOf"].includes(name)) return [[name, value.map((each) => plain(each, mayBeNull))]]
      if (name === "items" || name === "additionalProperties") return [[name, plain(value, mayBeNull)]]
      return [[name, name === "$ref" ? value.replace("#/components/schemas/", "#/schemas/") : value]]
    })
  )
  if (nullable !== true && !(isProperty && mayBeNull(schema))) return taken
  if (typeof taken.type !== "string" || taken.$ref !== undefined) return { anyOf: [taken, { type: "null" }] }
  return {
    ...taken,
    type: [taken.type, "null"],
    ...(taken.enum !== undefined && { enum: [...new Set([...taken.enum, null])] })
  }
}

const at = (document, path) =>
  path
    .slice(2)
    .split("/")
    .reduce((value, name) => value[name.replaceAll("~1", "/")], document)

/** The thing itself in place of a reference to it. */
const found = (document, value) => (value?.$ref === undefined ? value : found(document, at(document, value.$ref)))

const zeros = { string: "", integer: 0, number: 0, boolean: false, null: null }

/** A value that fits a schema, by its own example where it has one. */
const valueOf = (document, given, { all, mayBeNull }, depth = 0) => {
  const how = { all, mayBeNull }
  if (given.nullable === true || (all && depth > 0 && mayBeNull(given))) return null
  const schema = found(document, given)
  if (schema.nullable === true) return null
  if (schema.example !== undefined) return schema.example
  if (schema.enum !== undefined) return schema.enum[0]
  const [variant] =
    schema.oneOf ?? schema.anyOf ?? (schema.properties === undefined && schema.allOf?.length === 1 ? schema.allOf : [])
  if (variant !== undefined) return valueOf(document, found(document, variant), how, depth)
  if (schema.format === "date-time") return "0001-01-01T00:00:00Z"
  if (schema.format === "uri") return "https://forge.example/"
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === "array") return all && depth === 0 ? [valueOf(document, schema.items, how)] : []
  if (type !== "object" && schema.properties === undefined && schema.allOf === undefined) return zeros[type] ?? null
  const parts = [schema, ...(schema.allOf ?? []).map((each) => found(document, each))]
  const properties = Object.assign({}, ...parts.map((each) => each.properties))
  const required = parts.flatMap((each) => each.required ?? [])
  const names = Object.keys(properties).filter((name) => all || required.includes(name))
  return Object.fromEntries(names.map((name) => [name, valueOf(document, properties[name], how, depth + 1)]))
}

/** The schemas that an object has to fit, one of each choice: the one with the most of the names of the object. */
const partsOf = (document, given, value) => {
  const schema = found(document, given)
  const fits = (each) => {
    const names = Object.keys(found(document, each).properties ?? {})
    return names.filter((name) => name in value).length - names.filter((name) => !(name in value)).length / 1000
  }
  const choices = (schema.anyOf ?? schema.oneOf ?? []).toSorted((one, other) => fits(other) - fits(one)).slice(0, 1)
  return [schema, ...[...(schema.allOf ?? []), ...choices].flatMap((each) => partsOf(document, each, value))]
}

/**
 * An example with the required fields that it lacks, or with all fields. `added` gets their paths.
 */
const completed = (document, schema, value, how, added, path = "") => {
  if (schema === undefined) return value
  if (Array.isArray(value)) {
    const { items } = found(document, schema)
    return value.map((each) => completed(document, items, each, how, added, `${path}/*`))
  }
  if (!isObject(value)) return value
  const result = { ...value }
  for (const part of partsOf(document, schema, value))
    for (const [name, property] of Object.entries(part.properties ?? {})) {
      if (name in value) result[name] = completed(document, property, value[name], how, added, `${path}/${name}`)
      else if (how.all || (part.required ?? []).includes(name)) {
        added.add(`${path}/${name}`)
        result[name] = valueOf(document, property, how, 1)
      }
    }
  return result
}

const referred = (value) => [...JSON.stringify(value).matchAll(/"#\/schemas\/([^"]+)"/g)].map(([, name]) => name)

/**
 * The answers to operations such as `GET /user`.
 * - `examples` has published answers that are not in the document.
 * - `all` demands every field, for a document that says of none that it is required.
 * - `mayBeNull` tells which schemas without `nullable` have values that are null.
 */
export const takeOperations = (document, operations, { all = false, examples = {}, mayBeNull = () => false } = {}) => {
  const taken = {}
  for (const operation of operations) {
    const [method, path] = operation.split(/ (.*)/s)
    const described = document.paths[path]?.[method.toLowerCase()]
    if (described === undefined) throw new Error(`The document has no operation ${operation}.`)
    const answers = Object.entries(described.responses).map(([status, response]) => {
      const { content = {}, headers = {} } = found(document, response)
      const isDone = status.startsWith("2")
      const [body] = Object.values(content)
      const given =
        Object.values(body?.examples ?? {})[0] ?? (body?.example === undefined ? undefined : { value: body.example })
      const published = (isDone ? examples[operation] : undefined) ?? found(document, given)?.value
      const added = new Set()
      const isAnswer = body?.schema !== undefined
      const answer =
        published === undefined
          ? isAnswer && all && isDone
            ? valueOf(document, body.schema, { all, mayBeNull })
            : undefined
          : completed(document, body?.schema, published, { all, mayBeNull }, added)
      const recording = {
        ...(isAnswer && { schema: plain(body.schema, mayBeNull) }),
        ...(Object.keys(headers).length > 0 && { headers: Object.keys(headers).sort() }),
        ...(answer !== undefined && { answer, published: published !== undefined }),
        ...(added.size > 0 && { added: [...added].sort() })
      }
      return [status, recording]
    })
    taken[operation] = Object.fromEntries(answers.filter(([status]) => !/^(?:304|5..)$/.test(status)))
  }
  const schemas = {}
  for (const queue = referred(taken); queue.length > 0; ) {
    const name = queue.pop()
    if (name in schemas) continue
    schemas[name] = plain(document.components.schemas[name], mayBeNull)
    queue.push(...referred(schemas[name]))
  }
  return {
    operations: taken,
    schemas: Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)))
  }
}
