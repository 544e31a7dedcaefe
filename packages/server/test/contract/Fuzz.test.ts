import { Agent, request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Server } from "@reins/server/Server"
import { fuzzRequests, fuzzSeed } from "@reins/testing/Volume"
import { Effect, Layer, Redacted, Runtime } from "effect"
import fc from "fast-check"
import { flowServices } from "../Databases.js"
import { change, password } from "../Service.js"
import { type Answer, problemOf, problemOfUnmet } from "./Answers.js"
import { type Operation, operations } from "./Document.js"
import { bounded, type Generated, generated, inWorld } from "./GeneratedRequest.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant } from "./TenantParts.js"

/** Half of them meet the service on each database. `npm test` has SQLite, and the matrix PostgreSQL. */
const requests = Math.ceil(fuzzRequests / 2)

const endsLogins: ReadonlySet<string> = new Set(["POST /api/auth/logout", "POST /api/auth/password-changes"])

/** Far more than any answer takes, however busy the machine is. */
const answerWithinMs = 120_000

/** After so many requests most of what a tenant holds is closed, archived or revoked: a new one is made. */
const requestsOfAWorld = 300

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
        timeout: answerWithinMs
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
    sending.on("timeout", () => sending.destroy(new Error(`there was no answer in ${answerWithinMs / 1000} seconds`)))
    sending.on("error", reject)
    sending.end(body)
  })

/** The operation that a request meets: without its last id, as in `/api/sessions/`, that is the one of the list. */
const metBy = ({ method, operation, path }: Generated): Operation | undefined => {
  const met = path.endsWith("/") ? path.replace(/\/+$/, "") : operation.path
  return operations.find((candidate) => candidate.path === met && candidate.method === method)
}

const verdict = (given: Generated, answer: Answer): string | undefined => {
  if (answer.status >= 500) return "it is a failure of the server"
  if (given.method === "HEAD") return answer.text === "" ? undefined : "HEAD has a body"
  if (given.method === "OPTIONS") return [204, 404, 415].includes(answer.status) ? undefined : "OPTIONS is not answered"
  const operation = metBy(given)
  if (operation !== undefined) return problemOf(operation, answer)
  if (![404, 405, 415].includes(answer.status)) return "a method that is not there is answered"
  return problemOfUnmet(given.operation, answer)
}

/** A login of its own address: wrong passwords are among the requests, and after some of them theirs may not log in. */
const logIn = ({ person }: Tenant) =>
  Effect.map(
    Effect.all([
      Effect.flatMap(LoginSessions, (logins) =>
        logins.login({ email: person.email, password }, { clientAddress: "198.51.100.7" })
      ),
      // It takes the cookies of a login away, and so tells their names.
      change("POST", "/api/auth/logout", { headers: person.bearer })
    ]),
    ([{ csrfToken, token }, { headers }]) => {
      const [name] = headers.getSetCookie()[0]?.split("=") ?? []
      return { cookie: `${name}=${Redacted.value(token)}`, csrf: csrfToken }
    }
  ).pipe(Effect.orDie)

const inhabited = Effect.flatMap(newTenant, (tenant) => Effect.map(logIn(tenant), (login) => ({ tenant, login })))

/** The credential of the caller, of the two ways that are meant to succeed. */
const wayOf = ({ headers }: Generated): "key" | "login" =>
  headers["authorization"] === undefined && headers["cookie"] !== undefined ? "login" : "key"

for (const { database, layer: service } of flowServices(allowGateway)) {
  layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })(
    `any request on ${database}`,
    (it) => {
      it.effect(
        `of ${requests} (seed ${fuzzSeed}) is answered as the document says, and never with a failure of the server`,
        () =>
          Effect.gen(function* () {
            const runtime = yield* Effect.runtime<Effect.Effect.Context<typeof inhabited>>()
            const { url } = yield* Server
            const agent = new Agent({ keepAlive: true, maxSockets: 1 })
            let { login, tenant } = yield* inhabited
            let count = 0
            const run = Runtime.runPromise(runtime)
            const met = new Set<string>()
            const succeeded = { key: new Set<string>(), login: new Set<string>() }
            const property = fc.asyncProperty(generated, async (request) => {
              if (++count % requestsOfAWorld === 0) ({ login, tenant } = await run(inhabited))
              const given = inWorld(bounded(request), tenant, login)
              const answer = await exchange(agent, url, given)
              const { name } = given.operation
              met.add(name)
              if (answer.status < 300) succeeded[wayOf(given)].add(name)
              if (endsLogins.has(name) && answer.status < 300) login = await run(logIn(tenant))
              const problem = verdict(given, answer)
              if (problem !== undefined) throw new Error(told(given, answer, problem))
            })
            const outcome = yield* Effect.promise(() =>
              fc.check(property, { seed: fuzzSeed, numRuns: requests, endOnFailure: false })
            )
            agent.destroy()
            if (outcome.failed)
              assert.fail(
                `REINS_FUZZ_SEED=${outcome.seed} path ${outcome.counterexamplePath}\n${outcome.errorInstance}`
              )
            assert.sameMembers(
              [...met],
              operations.map(({ name }) => name)
            )
            for (const names of Object.values(succeeded)) assert.isAbove(names.size, operations.length / 3)
          }),
        20 * 60_000 + requests * 300
      )
    }
  )
}

const told = ({ body, headers, method, path, query }: Generated, { status, text }: Answer, problem: string): string =>
  `${problem}\n${method} ${path}?${query.slice(0, 2000)}\n${JSON.stringify(headers)}\n${body?.slice(0, 2000)}\n-> ${status} ${text.slice(0, 2000)}`
