import { assert, describe, it } from "@effect/vitest"
import { errorKinds } from "@reins/base/domain/ReinsError"
import { eventTypes } from "@reins/core/Events"
import { builtInDocument } from "./BuiltIn.js"
import { document, type Json, operations } from "./Document.js"

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const jsonAt = (value: unknown, ...path: ReadonlyArray<string>): Json => {
  let at: unknown = value
  for (const key of path) at = isJson(at) ? at[key] : undefined
  return isJson(at) ? at : {}
}

/** A sentence that says more than the name does. */
const tells = (name: string, description: unknown): boolean => {
  if (typeof description !== "string" || !/[.`]$/.test(description)) return false
  const words = new Set(description.toLowerCase().match(/[a-z]+/g))
  const own = new Set(["the", "a", "an", "of", "its", ...name.toLowerCase().split(/[^a-z]+/)])
  return [...words].some((word) => !own.has(word))
}

/** The fields of a schema, and of the schemas inside it that are written out, that say nothing of themselves. */
const silentFields = (path: string, schema: unknown): ReadonlyArray<string> => {
  if (Array.isArray(schema)) return schema.flatMap((each) => silentFields(path, each))
  if (!isJson(schema)) return []
  const properties = Object.entries(jsonAt(schema, "properties")).flatMap(([name, property]) => [
    ...(isJson(property) && tells(name, property["description"]) ? [] : [`${path}.${name}`]),
    ...silentFields(`${path}.${name}`, property)
  ])
  const within = ["items", "anyOf", "oneOf", "allOf", "additionalProperties"].flatMap((key) =>
    silentFields(`${path}.${key}`, schema[key])
  )
  return [...properties, ...within]
}

describe("the document says in words", () => {
  it("what every component is", () => {
    const silent = Object.entries(document.components.schemas).filter(
      ([name, schema]) => !tells(name, schema["description"])
    )
    assert.deepStrictEqual(
      silent.map(([name]) => name),
      []
    )
  })

  it("what every field is", () => {
    assert.deepStrictEqual(
      Object.entries(document.components.schemas).flatMap(([name, schema]) => silentFields(name, schema)),
      []
    )
  })

  it("what every operation, parameter, body, answer and header is", () => {
    const silent = operations.flatMap((operation) => [
      ...(tells(
        operation.name,
        jsonAt(builtInDocument, "paths", operation.path, operation.method.toLowerCase())["description"]
      )
        ? []
        : [operation.name]),
      ...operation.parameters.flatMap(({ description, name }) =>
        tells(name, description) ? [] : [`${operation.name} ${name}`]
      ),
      ...(operation.requestBody === undefined || tells("body", operation.requestBody.description)
        ? []
        : [`${operation.name} body`]),
      ...Object.entries(operation.responses).flatMap(([status, response]) => [
        ...(tells(status, response.description) ? [] : [`${operation.name} ${status}`]),
        ...Object.entries(response.headers ?? {}).flatMap(([name, header]) =>
          tells(name, header.description) ? [] : [`${operation.name} ${status} ${name}`]
        )
      ])
    ])
    assert.deepStrictEqual(silent, [])
  })
})

describe("the document has", () => {
  it("an event of each type, with the shape of its payload", () => {
    const { discriminator, oneOf } = jsonAt(document, "components", "schemas", "Event")
    const mapping = jsonAt(discriminator, "mapping")
    assert.sameMembers(Object.keys(mapping), eventTypes)
    assert.sameMembers(
      Object.values(mapping),
      (Array.isArray(oneOf) ? oneOf : []).map((each) => jsonAt(each)["$ref"])
    )
    for (const [type, reference] of Object.entries(mapping)) {
      const name = String(reference).replace("#/components/schemas/", "")
      const properties = jsonAt(document.components.schemas[name], "properties")
      assert.deepStrictEqual(jsonAt(properties, "type")["enum"], [type])
      const payload = String(jsonAt(properties, "payload")["$ref"]).replace("#/components/schemas/", "")
      assert.property(document.components.schemas, payload, type)
    }
  })

  it("the credential of each kind of connection", () => {
    const kinds = jsonAt(document, "components", "schemas", "Connection", "properties", "kind")["enum"]
    const mapping = jsonAt(document, "components", "schemas", "ConnectionInput", "discriminator", "mapping")
    assert.sameMembers(Object.keys(mapping), Array.isArray(kinds) ? kinds : [])
    for (const reference of Object.values(mapping)) {
      const input = document.components.schemas[String(reference).replace("#/components/schemas/", "")]
      const credential = String(jsonAt(input, "properties", "credential")["$ref"]).replace("#/components/schemas/", "")
      assert.isNotEmpty(jsonAt(document.components.schemas[credential], "properties"), credential)
    }
  })

  it("every code of an error, each with the status that it is answered with", () => {
    const code = jsonAt(document, "components", "schemas", "ErrorEnvelope", "properties", "error", "properties", "code")
    assert.sameMembers(Array.isArray(code["enum"]) ? code["enum"] : [], Object.keys(errorKinds))
    const kinds: Readonly<Record<string, { readonly status: number }>> = errorKinds
    for (const { errorCodes, name } of operations)
      for (const [status, codes] of Object.entries(errorCodes))
        for (const each of codes) assert.strictEqual(kinds[each]?.status, Number(status), `${name} ${each}`)
  })
})
