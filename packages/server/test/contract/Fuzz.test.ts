import { Agent, request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect, Layer, Runtime } from "effect"
import fc from "fast-check"
import { servicesByDatabase } from "../Databases.js"
import { type Answer, problemOf } from "./Answers.js"
import { type Operation, operations, type Parameter } from "./Document.js"
import { bent, own, valid, wild, wildText } from "./SchemaArbitrary.js"
import { allowGateway, fileOfWorkspaces, Gateway, newWorld, type World } from "./World.js"

/** Half of them meet the service on each database. */
const requests = Math.ceil(Number(process.env["REINS_FUZZ_REQUESTS"] ?? 2000) / 2)
const seed = Number(process.env["REINS_FUZZ_SEED"] ?? 20_260_131)

/** After so many requests most of what a world holds is closed, archived or revoked: a new one is made. */
const requestsOfAWorld = 300

/** A request as it is generated; `@own(...)` stands for ids of the world that it meets. */
interface Generated {
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

/** What a cursor looks like, though no list gave it out. */
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
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.tuple(texts, fc.nat(200)).map(([text, length]) => text.slice(0, length)),
    fc.integer({ min: 1, max: 50_000 }).map((depth) => "[".repeat(depth)),
    fc.constantFrom(undefined, "", "  ", "\ufeff{}", "NaN", '{"a":1,"a":2}', "{} {}")
  )
  return often<string | undefined>(texts, broken)
}

/** Node refuses to send what is no latin-1 line. */
const headerText = wildText.map((text) => text.replace(/[^\x20-\x7e\x80-\xff]/g, "?").slice(0, 2000))

const maybe = (
  name: string,
  values: fc.Arbitrary<string>,
  weight = 15
): fc.Arbitrary<Readonly<Record<string, string>>> =>
  often<Readonly<Record<string, string>>>(
    fc.constant({}),
    values.map((value) => ({ [name]: value })),
    weight
  )

const usually = (name: string, usual: fc.Arbitrary<string>, odd: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 25, arbitrary: usual.map((value): Readonly<Record<string, string>> => ({ [name]: value })) },
    { weight: 1, arbitrary: odd.map((value): Readonly<Record<string, string>> => ({ [name]: value })) },
    { weight: 1, arbitrary: fc.constant<Readonly<Record<string, string>>>({}) }
  )

const headers = fc
  .tuple(
    usually(
      "authorization",
      fc.constant(own("bearer")),
      fc.oneof(
        headerText,
        headerText.map((text) => `Bearer ${text}`)
      )
    ),
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
    maybe("x-csrf-token", headerText),
    maybe("cookie", fc.oneof(headerText, fc.constantFrom("reins_session=a", "reins_session=%", "=", ";;;"))),
    maybe("origin", fc.oneof(headerText, fc.constant("https://evil.example"))),
    maybe("content-encoding", fc.constantFrom("gzip", "identity", "x"), 60),
    maybe("expect", fc.constant("100-continue"), 100),
    maybe("x-http-method-override", fc.constantFrom("DELETE", "GET"), 60)
  )
  .map((parts): Readonly<Record<string, string>> => Object.assign({}, ...parts))

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"]

// Built once for each operation, since building takes longer than generating.
const generated: fc.Arbitrary<Generated> = fc.oneof(
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
const bounded = (given: Generated): Generated => {
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

const exchange = (agent: Agent, url: string, given: Generated) =>
  new Promise<Answer>((resolve, reject) => {
    const body = given.body === undefined ? undefined : Buffer.from(given.body)
    const sending = request(
      `${url}/`,
      {
        agent,
        method: given.method,
        path: given.query === "" ? given.path : `${given.path}?${given.query}`,
        headers: { ...given.headers, ...(body !== undefined && { "content-length": String(body.length) }) },
        timeout: 20_000
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", reject)
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers["content-type"],
            text: Buffer.concat(chunks).toString("utf8")
          })
        )
      }
    )
    sending.on("timeout", () => sending.destroy(new Error("there was no answer in 20 seconds")))
    sending.on("error", reject)
    sending.end(body)
  })

const inWorld = (given: Generated, world: World): Generated => {
  const byPrefix = Object.fromEntries(Object.values(world.ids).map((id) => [id.slice(0, id.indexOf("_")), id]))
  const values: Readonly<Record<string, string>> = {
    ...byPrefix,
    pver: world.projectVersionId,
    upl: world.uploadId,
    file: encoded(fileOfWorkspaces),
    ...world.ids,
    bearer: world.person.bearer.authorization
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

/** The operation that a request meets: that of its method on the path. */
const metBy = ({ method, operation }: Generated): Operation | undefined =>
  operations.find((candidate) => candidate.path === operation.path && candidate.method === method)

const verdict = (given: Generated, answer: Answer): string | undefined => {
  if (answer.status >= 500) return "it is a failure of the server"
  if (given.method === "HEAD") return answer.text === "" ? undefined : "HEAD has a body"
  if (given.method === "OPTIONS") return [204, 404, 415].includes(answer.status) ? undefined : "OPTIONS is not answered"
  const operation = metBy(given)
  if (operation !== undefined) return problemOf(operation, answer)
  if (![404, 405, 415].includes(answer.status)) return "a method that is not there is answered"
  return problemOf(given.operation, answer)
}

for (const { database, layer: service } of servicesByDatabase(allowGateway)) {
  layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })(
    `any request on ${database}`,
    (it) => {
      it.effect(
        `of ${requests} (seed ${seed}) is answered as the document says, and never with a failure of the server`,
        () =>
          Effect.gen(function* () {
            const runtime = yield* Effect.runtime<Effect.Effect.Context<typeof newWorld>>()
            const { url } = yield* Server
            const agent = new Agent({ keepAlive: true, maxSockets: 1 })
            let world = yield* newWorld
            let count = 0
            const met = new Map<string, Set<number>>()
            const property = fc.asyncProperty(generated, async (request) => {
              if (++count % requestsOfAWorld === 0) world = await Runtime.runPromise(runtime)(newWorld)
              const given = inWorld(bounded(request), world)
              const answer = await exchange(agent, url, given)
              const { name } = given.operation
              met.set(name, (met.get(name) ?? new Set()).add(answer.status))
              const problem = verdict(given, answer)
              if (problem !== undefined) throw new Error(told(given, answer, problem))
            })
            const outcome = yield* Effect.promise(() =>
              fc.check(property, { seed, numRuns: requests, endOnFailure: false })
            )
            agent.destroy()
            if (outcome.failed)
              assert.fail(
                `REINS_FUZZ_SEED=${outcome.seed} path ${outcome.counterexamplePath}\n${outcome.errorInstance}`
              )
            assert.sameMembers(
              [...met.keys()],
              operations.map(({ name }) => name)
            )
            const succeeded = [...met.values()].filter((statuses) => [...statuses].some((status) => status < 300))
            assert.isAbove(succeeded.length, operations.length / 2)
          }),
        60_000 + requests * 60
      )
    }
  )
}

const told = ({ body, headers, method, path, query }: Generated, { status, text }: Answer, problem: string): string =>
  `${problem}\n${method} ${path}?${query.slice(0, 2000)}\n${JSON.stringify(headers)}\n${body?.slice(0, 2000)}\n-> ${status} ${text.slice(0, 2000)}`
