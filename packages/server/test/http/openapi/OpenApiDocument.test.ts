import { HttpApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@reins/core/Api"
import { Schema } from "effect"
import { builtInDocument } from "../../contract/BuiltIn.js"

const Json = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const Operation = Schema.Struct({
  summary: Schema.String,
  description: Schema.String,
  tags: Schema.Array(Schema.String),
  parameters: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      in: Schema.String,
      description: Schema.optional(Schema.String),
      required: Schema.Boolean,
      schema: Json
    })
  ),
  security: Schema.Array(Json),
  responses: Schema.Record({ key: Schema.String, value: Json }),
  "x-reins-extension": Schema.optional(Schema.Boolean)
})
const Document = Schema.Struct({
  openapi: Schema.Literal("3.1.0"),
  info: Schema.Struct({ title: Schema.Literal("Reins"), version: Schema.Literal("2.0.0"), license: Json }),
  tags: Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.optional(Schema.String) })),
  paths: Schema.Record({ key: Schema.String, value: Schema.Record({ key: Schema.String, value: Operation }) }),
  components: Schema.Struct({ schemas: Schema.Record({ key: Schema.String, value: Json }), securitySchemes: Json })
})

const text = JSON.stringify(builtInDocument)
const document = Schema.decodeUnknownSync(Schema.parseJson(Document))(text)
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
)

describe("the OpenAPI document", () => {
  it("has every endpoint of the API and no other", () => {
    const endpoints: Array<string> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) =>
        void endpoints.push(`${endpoint.method.toLowerCase()} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`)
    })
    assert.sameMembers(
      operations.map(({ method, path }) => `${method} ${path}`),
      endpoints
    )
  })

  it("says for every operation how a malformed request and a failure are answered, and gives no 400 of the platform", () => {
    for (const { operation, path } of operations) {
      assert.isTrue("422" in operation.responses && "default" in operation.responses, path)
    }
    assert.isTrue(
      "HTTPValidationError" in document.components.schemas && "ErrorEnvelope" in document.components.schemas
    )
    assert.notInclude(text, "HttpApiDecodeError")
    assert.deepInclude(document.components.schemas["ValidationError"], {
      type: "object",
      required: ["loc", "msg", "type"]
    })
  })

  it("requires Idempotency-Key of every mutation and of no read", () => {
    for (const { method, operation, path } of operations) {
      const key = operation.parameters.find(({ name }) => name === "Idempotency-Key")
      assert.strictEqual(key?.required ?? false, method !== "get", `${method} ${path}`)
      assert.isFalse(operation.parameters.some(({ name }) => name === "idempotency-key"))
    }
  })

  it("lets everything but the public operations be called with a bearer or a cookie, changes by cookie with X-CSRF-Token", () => {
    for (const { method, operation, path } of operations) {
      const isPublic =
        path.startsWith("/api/shared/") ||
        [
          "/api/auth/register",
          "/api/auth/login",
          "/api/auth/email-verifications",
          "/api/auth/password-resets"
        ].includes(path)
      assert.deepStrictEqual(operation.security, isPublic ? [] : [{ bearer: [] }, { cookie: [] }], path)
      assert.strictEqual(
        operation.parameters.some(({ name }) => name === "X-CSRF-Token"),
        method !== "get" && !isPublic,
        path
      )
    }
  })

  it("describes the events of a session with the parameters and defaults of the specification and one more, as JSON and as a stream", () => {
    const events = document.paths["/api/sessions/{session_id}/events"]?.["get"]
    assert.deepStrictEqual(
      events?.parameters.filter((parameter) => parameter.in === "query").map(({ name, schema }) => [name, schema]),
      [
        ["after", { anyOf: [{ type: "integer" }, { type: "null" }] }],
        ["limit", { type: "integer", minimum: 1, maximum: 1000, default: 500 }],
        ["types", { anyOf: [{ type: "string" }, { type: "null" }] }],
        ["turn_id", { anyOf: [{ type: "string" }, { type: "null" }] }],
        ["max_seconds", { type: "number", default: 600 }],
        ["deltas", { type: "boolean", default: false }]
      ]
    )
    assert.hasAllKeys(events?.responses["200"]?.["content"], ["application/json", "text/event-stream"])
  })

  it("says in words what every operation, group and parameter is for", () => {
    for (const { method, operation, path } of operations) {
      assert.isAbove(operation.description.length, operation.summary.length, `${method} ${path}`)
      for (const { description, name } of operation.parameters) assert.isString(description, `${path} ${name}`)
    }
    for (const { description, name } of document.tags) assert.isString(description, name)
    assert.deepStrictEqual(
      document.tags.map(({ name }) => name),
      [...new Set(operations.flatMap(({ operation }) => operation.tags))].sort()
    )
  })

  it("marks what the specification does not list", () => {
    assert.isTrue(document.paths["/api/workspaces/{workspace_id}/sessions"]?.["post"]?.["x-reins-extension"])
    assert.isUndefined(document.paths["/api/me"]?.["get"]?.["x-reins-extension"])
  })

  it("lets every object have more properties, and refers to nothing that is not there", () => {
    assert.notInclude(text, '"additionalProperties":false')
    assert.notInclude(text, "$id")
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      assert.property(document.components.schemas, name ?? "")
    }
  })
})
