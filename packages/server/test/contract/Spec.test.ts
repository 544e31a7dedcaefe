import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { servicesByDatabase } from "../Databases.js"
import { Caller, send } from "../Service.js"
import { problemOf } from "./Answers.js"
import {
  decodeDocument,
  document,
  fill,
  type Json,
  type Operation,
  operations,
  operationsOf,
  pathParameters
} from "./Document.js"
import { exampleOf } from "./Examples.js"
import * as Specification from "./Specification.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway } from "./TenantParts.js"

const byName = new Map(operations.map((operation) => [operation.name, operation]))
const listedNames = new Set(Specification.listed.map(({ name }) => name))

const listedOperation = (name: string): Operation => {
  const operation = byName.get(name)
  return operation ?? assert.fail(`the document has no ${name}`)
}

/** A type of the specification as the document writes it. */
const schemaOf = ({ default: value, type }: Specification.ListedParameter): Json => {
  const [kind = "", orNull] = type.split(" or ")
  if (orNull !== undefined) return { anyOf: [{ type: kind }, { type: "null" }] }
  if (value === "none") return { type: kind }
  return { type: kind, default: value === "empty string" ? "" : kind === "string" ? value : Number(value) }
}

/** A shape without the bounds of a number, which the specification leaves open. */
const withoutBounds = ({ maximum: _, minimum: __, ...schema }: Json): Json => schema

const idOf = (name: string): string => `${name.replace("_id", "")}_01jz0000000000000000000000`

const refers = (component: string): Json => ({ $ref: `#/components/schemas/${component}` })

const jsonOf = (operation: Operation, status: string): Json | undefined =>
  operation.responses[status]?.content?.["application/json"]?.schema

const eachObject = (value: unknown, visit: (object: Json) => void): void => {
  if (Array.isArray(value)) for (const item of value) eachObject(item, visit)
  else if (typeof value === "object" && value !== null) {
    const object: Json = { ...value }
    visit(object)
    for (const inner of Object.values(object)) eachObject(inner, visit)
  }
}

describe("the specification", () => {
  for (const { database, layer: service } of servicesByDatabase(allowGateway)) {
    layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })(
      `as it is served on ${database}`,
      (it) => {
        it.effect("is an OpenAPI document of the version that it names, the one that the API value gives", () =>
          Effect.gen(function* () {
            const served = yield* send("GET", "/openapi.json")
            assert.strictEqual(served.status, 200)
            // The login cookie has a name of its own in each installation.
            const text = served.text.replace(/"reins_session_[0-9a-f]{8}"/, '"__Host-reins_session_0a1b2c3d"')
            const decoded = decodeDocument(JSON.parse(text))
            assert.strictEqual(decoded.openapi, Specification.sentence(/OpenAPI (\d+\.\d+\.\d+) description/))
            assert.strictEqual(decoded.info.version, Specification.sentence(/API version: (\d+\.\d+\.\d+)/))
            assert.deepStrictEqual(decoded, document)
          })
        )

        it.effect("has every listed operation, 58 in all, and marks every other one as an extension", () =>
          Effect.sync(() => {
            assert.strictEqual(listedNames.size, 58)
            const missing = [...listedNames].filter((name) => !byName.has(name))
            assert.deepStrictEqual(missing, [], `not served yet: ${missing.join(", ")}`)
            for (const operation of operationsOf(document)) {
              assert.strictEqual(
                operation["x-reins-extension"],
                listedNames.has(operation.name) ? undefined : true,
                operation.name
              )
            }
          })
        )

        it.effect("keeps every path below /api without a version", () =>
          Effect.sync(() => {
            for (const { path } of operations) assert.match(path, /^\/api\/(?!v\d)/)
          })
        )

        for (const { hasBody, lists422, name, status } of Specification.listed) {
          it.effect(name, () =>
            Effect.gen(function* () {
              const operation = listedOperation(name)
              const statuses = Object.keys(operation.responses).filter((key) => key.startsWith("2"))
              assert.deepStrictEqual(statuses, [status])
              const schema = jsonOf(operation, status)
              assert.strictEqual(schema !== undefined, hasBody)
              if (schema !== undefined) assert.strictEqual(resolved(schema)["type"], "object")
              // A 422 is an HTTPValidationError on every operation, not only where it is listed.
              assert.deepStrictEqual(jsonOf(operation, "422"), refers("HTTPValidationError"), lists422 ? "listed" : "")
              assert.deepStrictEqual(
                operation.parameters
                  .filter((parameter) => parameter.in === "path")
                  .map(({ description: _, ...parameter }) => parameter),
                pathParameters(operation).map((id) => ({
                  name: id,
                  in: "path" as const,
                  schema: { type: "string" },
                  required: true
                }))
              )
              if (operation.requestBody !== undefined) {
                assert.deepStrictEqual(Object.keys(operation.requestBody.content), ["application/json"])
              }
              // The running server knows the route: it lets no stranger in, or tells what is wrong with the request.
              const { bearer } = yield* Caller
              const ids = Object.fromEntries(pathParameters(operation).map((id) => [id, idOf(id)]))
              const path = fill(operation.path, ids)
              const isPublic = operation.security.length === 0
              assert.strictEqual((yield* send(operation.method, path)).status, isPublic ? 422 : 401)
              const reply = yield* send(operation.method, path, { headers: bearer })
              if (operation.method !== "GET") {
                assert.strictEqual(reply.status, 422)
                assert.nestedPropertyVal(reply.json, "detail[0].loc[0]", "header")
                assert.nestedPropertyVal(reply.json, "detail[0].loc[1]", "Idempotency-Key")
                assert.nestedPropertyVal(reply.json, "detail[0].type", "missing")
              } else if (pathParameters(operation).length > 0) {
                assert.strictEqual(
                  reply.status,
                  operation.parameters.some((each) => each.in === "query" && each.required) ? 422 : 404
                )
              }
              assert.strictEqual((yield* send("OPTIONS", path)).headers.get("allow")?.includes(operation.method), true)
            })
          )
        }

        it.effect(
          "answers every listed read of an account that has something of everything with 200 and an object",
          () =>
            Effect.gen(function* () {
              const tenant = yield* newTenant
              for (const { name } of Specification.listed.filter((candidate) => candidate.name.startsWith("GET "))) {
                const operation = listedOperation(name)
                const { headers, path } = yield* exampleOf(operation, tenant)
                const reply = yield* send("GET", path, { headers })
                assert.strictEqual(reply.status, 200, `${name} ${reply.text}`)
                const contentType = reply.headers.get("content-type") ?? undefined
                assert.isUndefined(problemOf(operation, { status: 200, contentType, text: reply.text }), name)
              }
            })
        )

        for (const { name } of Specification.listed) {
          const expected = Specification.queryOf(name)
          if (expected.length === 0) continue
          it.effect(`${name} takes ${expected.map((parameter) => parameter.name).join(", ")}`, () =>
            Effect.sync(() => {
              const query = listedOperation(name).parameters.filter((parameter) => parameter.in === "query")
              const own = query.slice(0, expected.length)
              assert.deepStrictEqual(
                own.map((parameter) => [parameter.name, parameter.required, withoutBounds(parameter.schema)]),
                expected.map((parameter) => [parameter.name, parameter.required, schemaOf(parameter)])
              )
              assert.isFalse(query.slice(expected.length).some(({ required }) => required))
            })
          )
        }

        it.effect("requires nothing of a query that the specification does not", () =>
          Effect.sync(() => {
            for (const { name } of Specification.listed) {
              const known = new Set(Specification.queryOf(name).map((parameter) => parameter.name))
              for (const parameter of byName.get(name)?.parameters ?? []) {
                if (parameter.in !== "query" || known.has(parameter.name)) continue
                assert.isFalse(parameter.required, `${name} ${parameter.name}`)
              }
            }
          })
        )

        it.effect("names its resources by the path parameters that the specification names", () =>
          Effect.sync(() => {
            const used = new Set(Specification.listed.flatMap(({ name }) => pathParameters({ path: name })))
            assert.sameMembers([...used], [...Specification.pathIds])
          })
        )

        it.effect("has HTTPValidationError and ValidationError in the shapes that are given", () =>
          Effect.sync(() => {
            const shapes: ReadonlyArray<readonly [string, Json]> = [
              ["HTTPValidationError", { detail: { type: "array", items: refers("ValidationError") } }],
              [
                "ValidationError",
                {
                  loc: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
                  msg: { type: "string" },
                  type: { type: "string" },
                  input: {},
                  ctx: { type: "object", additionalProperties: {} }
                }
              ]
            ]
            // The description of a field is not its shape.
            const shapeOf = (fields: unknown): Json =>
              Object.fromEntries(
                Object.entries(asJson(fields)).map(([name, field]) => {
                  const { description: _, ...shape } = asJson(field)
                  return [name, shape]
                })
              )
            for (const [name, properties] of shapes) {
              const rows = Specification.fieldsOf(name)
              assert.deepStrictEqual(
                Object.keys(properties),
                rows.map((row) => row["Field"])
              )
              const required = rows.flatMap((row) => (row["Required"] === "yes" ? [row["Field"]] : []))
              const { additionalProperties: _, ...schema } = document.components.schemas[name] ?? {}
              const { description: __, ...shape } = schema
              assert.deepStrictEqual(plain({ ...shape, properties: shapeOf(shape["properties"]) }), {
                type: "object",
                ...(required.length > 0 && { required }),
                properties
              })
            }
          })
        )

        it.effect("answers every other failure with the envelope of its six fields", () =>
          Effect.gen(function* () {
            const fields = Specification.sentence(/whose value has the fields ([\w, ]+)\./).split(", ")
            for (const operation of operations)
              assert.deepStrictEqual(jsonOf(operation, "default"), refers("ErrorEnvelope"))
            const { error } = asJson((yield* send("GET", "/api/me")).json)
            assert.sameMembers(Object.keys(asJson(error)), fields)
            const envelope = asJson(asJson(document.components.schemas["ErrorEnvelope"])["properties"])
            assert.sameMembers([...asList(asJson(envelope["error"])["required"])], fields)
          })
        )

        it.effect("lets every object have more properties", () =>
          Effect.sync(() => {
            eachObject([document.paths, document.components], (object) => {
              assert.notStrictEqual(object["additionalProperties"], false)
              assert.notProperty(object, "unevaluatedProperties")
            })
          })
        )

        it.effect("requires Idempotency-Key of every mutation and of nothing else, and tells of X-CSRF-Token", () =>
          Effect.sync(() => {
            for (const { method, name, parameters, security } of operations) {
              const header = (wanted: string) =>
                parameters.find((parameter) => parameter.in === "header" && parameter.name === wanted)?.required
              assert.strictEqual(header("Idempotency-Key"), method === "GET" ? undefined : true, name)
              const byCookie = security.some((way) => "cookie" in way)
              assert.strictEqual(header("X-CSRF-Token"), method !== "GET" && byCookie ? false : undefined, name)
            }
          })
        )

        it.effect("has the limits that are given as defaults", () =>
          Effect.sync(() => {
            const query = listedOperation("GET /api/sessions/{session_id}/events").parameters
            for (const row of Specification.limits) {
              const name = row["Limit"]?.replace(" (default)", "")
              const parameter = query.find((candidate) => candidate.name === name)
              assert.strictEqual(parameter?.schema["default"], Number(row["Value"]))
            }
          })
        )

        it.effect("lists the providers of the table, with their tiers, credentials and capabilities", () =>
          Effect.gen(function* () {
            const { bearer: headers } = yield* Caller
            const { items } = asJson((yield* send("GET", "/api/harnesses", { headers })).json)
            const ids = Specification.providers.map((row) => row["Provider"])
            // An installation may have more than the specification lists.
            const harnesses = asList(items)
              .map(asJson)
              .filter(({ provider_id }) => ids.includes(String(provider_id)))
            assert.deepStrictEqual(
              harnesses.map(({ connection, provider_id, tier }) => [provider_id, tier, connection]),
              Specification.providers.map((row) => [
                row["Provider"],
                row["Support tier"],
                connectionOf(row["Credentials"] ?? "")
              ])
            )
            assert.deepStrictEqual(
              harnesses[0]?.["capabilities"],
              Object.fromEntries(Specification.capabilities.map((row) => [row["Capability"], row["Value"]]))
            )
            const values = new Set(harnesses.flatMap(({ capabilities }) => Object.values(asJson(capabilities))))
            for (const value of values) assert.include(["supported", "unsupported", "unknown"], value)
          })
        )

        it.effect("lets no disabled provider be selected", () =>
          Effect.gen(function* () {
            const { bearer } = yield* Caller
            const { items } = asJson((yield* send("GET", "/api/workspaces", { headers: bearer })).json)
            const workspace = String(asJson(asList(items)[0])["id"])
            for (const row of Specification.providers) {
              if (row["Support tier"] !== "disabled") continue
              const provider = row["Provider"] ?? ""
              const refused = yield* send("POST", `/api/workspaces/${workspace}/sessions`, {
                headers: { ...bearer, "idempotency-key": `select ${provider}` },
                body: { harness: { provider_id: provider } }
              })
              assert.strictEqual(refused.status, 409)
              assert.nestedPropertyVal(refused.json, "error.code", "provider_disabled")
            }
          })
        )
      }
    )
  }
})

const asJson = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : assert.fail("no object")

const asList = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : assert.fail("no list"))

/** Without the words that describe it. */
const plain = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(plain)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, inner]) => (name === "description" ? [] : [[name, plain(inner)]]))
  )
}

const resolved = (schema: Json): Json => {
  const reference = schema["$ref"]
  return typeof reference === "string"
    ? (document.components.schemas[reference.replace("#/components/schemas/", "")] ?? {})
    : schema
}

const connectionOf = (credentials: string): Json | null => {
  const kind = /of the kind (\w+)/.exec(credentials)?.[1]
  return kind === undefined ? null : { kind, required: !credentials.startsWith("optional") }
}
