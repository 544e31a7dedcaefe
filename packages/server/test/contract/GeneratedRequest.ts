import { anyText } from "@reins/testing/AnyText"
import fc from "fast-check"
import { type Operation, operations, type Parameter } from "./Document.js"
import { bent, own, valid, wild, wildText } from "./SchemaArbitrary.js"
import { fileOfWorkspaces, type Tenant } from "./TenantParts.js"

/** A request as it is generated; `@own(...)` stands for ids of the tenant that it meets. */
export interface Generated {
  readonly operation: Operation
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const often = <A>(usual: fc.Arbitrary<A>, odd: fc.Arbitrary<A>, weight = 9): fc.Arbitrary<A> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

const segment = (name: string) =>
  often(
    fc.constant(own(name)),
    fc.oneof(
      wildText.map((text) => encoded(text.slice(0, 30))),
      fc.constantFrom("sess_01jz0000000000000000000000", "%00", "%ZZ", "..", ".", "%2e%2e", "a%2Fb", "", "*", ":id")
    )
  )

const pathOf = ({ path }: Operation): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...path.split("/").map((part) => {
        const name = /^\{(\w+)\}$/.exec(part)?.[1]
        return name === undefined ? fc.constant(part) : segment(name)
      })
    )
    .map((parts) => parts.join("/"))

const sendable = (text: string) => Buffer.from(text.slice(0, 600)).toString("utf8")
const encoded = (text: string) => encodeURIComponent(sendable(text))

/** A text of the shape of a cursor that no list gave out. */
const cursor = fc
  .oneof(
    wildText,
    fc.constantFrom("0", "1", "2147483647", "2147483648", "999999999999999", "-1", "a\u0000b", "sess_", "zzzz")
  )
  .map((key) => Buffer.from(`1:${key.slice(0, 300)}`).toString("base64url"))

const parameterOf = ({ name, required, schema }: Parameter): fc.Arbitrary<ReadonlyArray<string>> => {
  const usual = valid(schema).map((given) => (given === null ? "null" : String(given)))
  if (name === "cursor")
    return fc.oneof(
      fc.constant([]),
      fc.array(
        often(cursor, wildText.map(encoded)).map((text) => `cursor=${text}`),
        { maxLength: 2 }
      )
    )
  const value = often(name === "path" ? often(fc.constant(own("file")), usual, 2) : usual, wildText, 3)
  const given = fc.array(
    value.map((text) => `${name}=${encoded(text)}`),
    { minLength: 1, maxLength: 2 }
  )
  return required ? often(given, fc.constant([])) : fc.oneof(fc.constant([]), given)
}

const queryOf = ({ parameters }: Operation): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.tuple(...parameters.filter((parameter) => parameter.in === "query").map(parameterOf)),
      often(
        fc.constant(""),
        fc.constantFrom("?", "&&", "=", "%", "a[b]=c", "limit", "LIMIT=5", "limit%00=5", "cursor=bm9wZQ")
      )
    )
    .map(([parts, odd]) => [...parts.flat(), odd].filter((part) => part !== "").join("&"))

const bodyOf = ({ requestBody }: Operation): fc.Arbitrary<string | undefined> => {
  const schema = requestBody?.content["application/json"]?.schema
  if (schema === undefined)
    return often<string | undefined>(
      fc.constant(undefined),
      wild.map((value) => JSON.stringify(value))
    )
  const json = fc.oneof(
    { weight: 5, arbitrary: valid(schema) },
    { weight: 4, arbitrary: bent(schema) },
    { weight: 1, arbitrary: wild }
  )
  const texts = json.map((value) => JSON.stringify(value) ?? "null")
  const broken = fc.oneof<Array<fc.Arbitrary<string | undefined>>>(
    anyText({ maxLength: 30 }),
    fc.tuple(texts, fc.nat(200)).map(([text, length]) => text.slice(0, length)),
    fc.integer({ min: 1, max: 50_000 }).map((depth) => "[".repeat(depth)),
    fc.constantFrom(undefined, "", "  ", "\ufeff{}", "NaN", '{"a":1,"a":2}', "{} {}")
  )
  return often<string | undefined>(texts, broken)
}

/** Node refuses to send what is no latin-1 line. */
const headerText = wildText.map((text) => text.replace(/[^\x20-\x7e\x80-\xff]/g, "?").slice(0, 2000))

const maybe = (name: string, values: fc.Arbitrary<string>, weight = 15): fc.Arbitrary<Headers> =>
  often<Headers>(
    fc.constant({}),
    values.map((value) => ({ [name]: value })),
    weight
  )

const usually = (name: string, usual: fc.Arbitrary<string>, odd: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 25, arbitrary: usual.map((value): Headers => ({ [name]: value })) },
    { weight: 1, arbitrary: odd.map((value): Headers => ({ [name]: value })) },
    { weight: 1, arbitrary: only({}) }
  )

type Headers = Readonly<Record<string, string>>

const only = (headers: Headers) => fc.constant<Headers>(headers)

/** The credential of a request: usually a key, or a login with its CSRF token, as browsers have it. */
const credentials: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 15, arbitrary: only({ authorization: own("bearer") }) },
  { weight: 15, arbitrary: only({ cookie: own("cookie"), "x-csrf-token": own("csrf") }) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(
        headerText,
        headerText.map((text) => `Bearer ${text}`)
      )
      .map((authorization): Headers => ({ authorization, cookie: own("cookie"), "x-csrf-token": own("csrf") }))
  },
  { weight: 1, arbitrary: headerText.map((csrf): Headers => ({ cookie: own("cookie"), "x-csrf-token": csrf })) },
  {
    weight: 1,
    arbitrary: fc
      .oneof(headerText, fc.constantFrom("reins_session=a", "reins_session=%", "reins_session=", "=", ";;;"))
      .map((cookie): Headers => ({ cookie, "x-csrf-token": own("csrf") }))
  },
  { weight: 1, arbitrary: fc.constantFrom<Headers>({}, { cookie: own("cookie") }, { "x-csrf-token": own("csrf") }) }
)

const headers = fc
  .tuple(
    credentials,
    usually("idempotency-key", fc.uuid(), fc.oneof(headerText, fc.constantFrom("", "same", "x".repeat(256)))),
    usually(
      "content-type",
      fc.constant("application/json"),
      fc.oneof(
        headerText,
        fc.constantFrom("text/plain", "APPLICATION/JSON;charset=x", "multipart/form-data", "application/json+")
      )
    ),
    maybe(
      "accept",
      fc.oneof(headerText, fc.constantFrom("text/event-stream", "*/*", "text/html", "text/event-stream;q=0"))
    ),
    maybe("if-match", fc.oneof(headerText, fc.constantFrom('"1"', 'W/"1"', "*", '"999999999999999"'))),
    maybe("last-event-id", fc.oneof(headerText, fc.constantFrom("0", "-1", "1e3", "99999999999999999999"))),
    maybe("x-request-id", headerText),
    maybe("origin", fc.oneof(headerText, fc.constant("https://evil.example"))),
    maybe("content-encoding", fc.constantFrom("gzip", "identity", "x"), 60),
    maybe("expect", fc.constant("100-continue"), 100),
    maybe("x-http-method-override", fc.constantFrom("DELETE", "GET"), 60)
  )
  .map((parts): Headers => Object.assign({}, ...parts))

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"]

// Built once for each operation, since building takes longer than generating.
export const generated: fc.Arbitrary<Generated> = fc.oneof(
  ...operations.map((operation) =>
    fc.record({
      operation: fc.constant(operation),
      method: often(fc.constant(operation.method), fc.constantFrom(...methods), 30),
      path: pathOf(operation),
      query: queryOf(operation),
      headers,
      body: bodyOf(operation)
    })
  )
)

/** Puts bounds to what waits by design: a stream, and the wait for a delegation. */
export const bounded = (given: Generated): Generated => {
  if (given.operation.name.endsWith("/events")) return { ...given, query: `${given.query}&max_seconds=0.5` }
  return given.operation.name.endsWith("/waits") ? { ...given, body: patientBody(given.body) } : given
}

const patientBody = (body: string | undefined): string => {
  try {
    const value: unknown = JSON.parse(body ?? "{}")
    if (value === null) return '{"timeout_seconds":0}'
    if (typeof value !== "object" || Array.isArray(value)) return body ?? ""
    const seconds = "timeout_seconds" in value ? value.timeout_seconds : null
    return seconds === null || typeof seconds === "number"
      ? JSON.stringify({ ...value, timeout_seconds: 0 })
      : (body ?? "")
  } catch {
    return body?.trim() === "" ? "{" : (body ?? "")
  }
}

/** The cookies that a browser has after a login. */
export interface Login {
  readonly cookie: string
  readonly csrf: string
}

/** The request as somebody of a tenant sends it. */
export const inWorld = (given: Generated, tenant: Tenant, login: Login): Generated => {
  const byPrefix = Object.fromEntries(Object.values(tenant.ids).map((id) => [id.slice(0, id.indexOf("_")), id]))
  const values: Readonly<Record<string, string>> = {
    ...byPrefix,
    pver: tenant.projectVersionId,
    upl: tenant.uploadId,
    file: encoded(fileOfWorkspaces),
    ...tenant.ids,
    bearer: tenant.person.bearer.authorization,
    ...login
  }
  const filled = (text: string) =>
    text.replace(/@own\((\w+)\)|%40own\((\w+)\)/g, (_, a?: string, b?: string) => values[a ?? b ?? ""] ?? "none")
  return {
    ...given,
    path: filled(given.path),
    query: filled(given.query),
    headers: Object.fromEntries(Object.entries(given.headers).map(([name, value]) => [name, filled(value)])),
    body: given.body === undefined ? undefined : filled(given.body)
  }
}
