import { createServer, type ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { guessForge } from "@reins/machine/forge/ForgeGuess"
import { builtInForges } from "@reins/machine/forge/Forges"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { Effect } from "effect"

type Answer = (response: ServerResponse) => void

const says =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body))

const github = "/api/v3/meta"
const gitlab = "/api/v4/version"
const gitea = "/api/v1/version"
const everywhere = "*"

const marked = { "x-github-request-id": "0400:1A2B:3C4D" }

const page = "<!doctype html><title>Log in</title>"

/** The forge that a host is taken for, by what it answers at paths. It answers 404 elsewhere. */
const guessed = (answers: Readonly<Record<string, Answer>>) =>
  Effect.gen(function* () {
    const port = yield* onLoopback(() =>
      createServer(({ url = "" }, response) => (answers[url] ?? answers[everywhere] ?? says(404, page))(response))
    )
    const outbound = yield* Outbound
    return (yield* guessForge(outbound, builtInForges, `http://127.0.0.1:${port}`))?.kind
  }).pipe(Effect.scoped, Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })))

const cases: ReadonlyArray<readonly [string, Readonly<Record<string, Answer>>, string | undefined]> = [
  ["GitHub Enterprise Server", { [github]: says(200, { installed_version: "3.17.0" }, marked) }, "github"],
  ["one in private mode", { [github]: says(401, { message: "Must authenticate" }, marked) }, "github"],
  ["GitLab", { [gitlab]: says(401, { message: "401 Unauthorized" }) }, "gitlab"],
  ["GitLab behind a login of its own", { [gitlab]: says(403, {}, { "x-gitlab-meta": "{}" }) }, "gitlab"],
  ["GitLab whose every path wants a login", { [everywhere]: says(401, { message: "401 Unauthorized" }) }, "gitlab"],
  ["Gitea", { [gitea]: says(200, { version: "1.24.0" }) }, "gitea"],
  ["Gitea between releases", { [gitea]: says(200, { version: "1.25.0-dev-12-gabcdef" }) }, "gitea"],
  ["Forgejo", { [gitea]: says(200, { version: "11.0.1+gitea-1.22.0" }) }, "gitea"],
  [
    "Gitea whose every path wants a login",
    { [gitea]: says(403, { message: "Only signed in user is allowed" }) },
    undefined
  ],
  ["a page of a login at every path", { [everywhere]: says(200, page) }, undefined],
  ["JSON at every path", { [everywhere]: says(200, {}) }, undefined],
  ["another program with a version", { [gitea]: says(200, { version: "v2" }) }, undefined],
  ["a version that is a number", { [gitea]: says(200, { version: 1.24 }) }, undefined],
  ["a version that is null", { [gitea]: says(200, { version: null }) }, undefined],
  ["a version of 100,000 digits", { [gitea]: says(200, { version: "1".repeat(100_000) }) }, undefined],
  ["a list", { [everywhere]: says(200, ["1.24.0"]) }, undefined],
  ["null", { [everywhere]: says(200, "null") }, undefined],
  ["nothing", { [everywhere]: says(200, "") }, undefined],
  [
    "half of an answer",
    { [gitea]: (response) => void response.writeHead(200).write('{"version":"1.2', () => response.destroy()) },
    undefined
  ],
  ["a connection that ends at once", { [everywhere]: (response) => void response.destroy() }, undefined],
  ["other words of a refusal", { [gitlab]: says(401, { message: "Unauthorized" }) }, undefined],
  ["these words without JSON", { [gitlab]: says(401, "401 Unauthorized") }, undefined],
  ["these words and another status", { [gitlab]: says(200, { message: "401 Unauthorized" }) }, undefined],
  ["a fault at every path", { [everywhere]: says(503, page) }, undefined],
  ["too many requests", { [everywhere]: says(429, { message: "Slow down" }, { "retry-after": "60" }) }, undefined],
  ["a redirect to another host", { [everywhere]: says(302, "", { location: "https://example.com/" }) }, undefined],
  ["a redirect to itself", { [everywhere]: says(307, "", { location: "/api/v1/version" }) }, undefined],
  [
    "an answer in two halves",
    {
      [gitea]: (response) =>
        void response.writeHead(200).write('{"version":', () => setTimeout(() => response.end('"1.24.0"}'), 80))
    },
    "gitea"
  ]
]

describe("the forge of a host", () => {
  it.live.each(cases)("%s", ([, answers, forge]) =>
    Effect.map(guessed(answers), (kind) => assert.strictEqual(kind, forge))
  )
})
