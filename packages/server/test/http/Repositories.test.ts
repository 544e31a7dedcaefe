import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { textAt } from "../contract/TenantParts.js"
import { Caller, change, send, service } from "../Service.js"
import { newSession } from "../Sessions.js"

/** Texts that are no repository for anybody, and those that the operator of this server has not allowed. */
const hostile = [
  "ext::sh -c touch% /tmp/x",
  "ext::sh",
  "-oProxyCommand=touch /tmp/x",
  "--upload-pack=touch",
  "./x",
  "../x",
  "x",
  "~/x",
  "git://git.example/a.git",
  "ftp://git.example/a.git",
  "javascript://git.example/a",
  "fd::17/a",
  "https://",
  "https:///a.git",
  "https://ann:word@git.example/a.git",
  "ssh://-oProxyCommand=touch/x",
  "ssh://%2doProxyCommand=touch/x",
  "ssh://git.example",
  "-x@git.example:a",
  "git@-oProxyCommand=x:a",
  "git@git.example:-x",
  "ssh://git@git.example/a.git",
  "git@git.example:a.git",
  "/srv/a.git",
  "file:///srv/a.git",
  "file://host/srv/a.git",
  "http://git.example/a.git",
  "https://127.0.0.1/a.git",
  "https://0x7f.1/a.git",
  "https://[::ffff:169.254.169.254]/a.git",
  "https://git.example/a.git\nx",
  ""
]

layer(service(), { excludeTestServices: true })("a repository that git would never contact", (it) => {
  it.effect("is answered with 422 where it is posted: for a session, a project and a version of it", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { json } = yield* send("GET", "/api/workspaces", { headers: bearer })
      const path = `/api/workspaces/${textAt(json, "items.0.id")}`
      const created = yield* change("POST", `${path}/projects`, { headers: bearer, body: { slug: "p", name: "p" } })
      const project = textAt(created.json, "id")
      for (const url of hostile) {
        const spec = { repository: { url } }
        for (const [at, body, loc] of [
          [`${path}/sessions`, spec, "body,repository,url"],
          [`${path}/projects`, { slug: "q", name: "q", spec }, "body,spec,repository,url"],
          [`/api/projects/${project}/versions`, { spec }, "body,spec,repository,url"]
        ] as const) {
          const answer = yield* change("POST", at, { headers: bearer, body })
          assert.strictEqual(answer.status, 422, `${at} ${url}: ${JSON.stringify(answer.json)}`)
          assert.include(JSON.stringify(answer.json), JSON.stringify(loc.split(",")))
        }
      }
      const good = { spec: { repository: { url: "https://git.example/a.git" }, network: ["registry.example"] } }
      const published = yield* change("POST", `/api/projects/${project}/versions`, { headers: bearer, body: good })
      assert.strictEqual(published.status, 201, JSON.stringify(published.json))
    })
  )

  it.effect("so are folders that are none of a repository, and good ones are shown again", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { json } = yield* send("GET", "/api/workspaces", { headers: bearer })
      const path = `/api/workspaces/${textAt(json, "items.0.id")}`
      const url = "https://git.example/a.git"
      for (const [sparse, said] of [
        [[], "at least 1"],
        [["/apps"], "from the root of the repository"],
        [["apps/"], "from the root of the repository"],
        [["../apps"], "from the root of the repository"],
        [["apps/../docs"], "from the root of the repository"],
        [["."], "from the root of the repository"],
        [["a//b"], "from the root of the repository"],
        [["a\\b"], "from the root of the repository"],
        [["a\nb"], "from the root of the repository"],
        [["a/.git"], "from the root of the repository"],
        [[""], "at least 1"],
        [["a".repeat(501)], "at most 500"],
        [["apps", "docs", "apps"], "name each folder once"],
        [Array.from({ length: 101 }, (_, at) => `f${at}`), "at most 100"],
        ["apps", "list"]
      ] as const) {
        for (const [at, body, loc] of [
          ["sessions", { repository: { url, sparse } }, '"body","repository","sparse"'],
          ["projects", { slug: "q", name: "q", spec: { repository: { url, sparse } } }, '"spec","repository","sparse"']
        ] as const) {
          const answer = yield* change("POST", `${path}/${at}`, { headers: bearer, body })
          assert.strictEqual(answer.status, 422, JSON.stringify(sparse))
          assert.include(JSON.stringify(answer.json), loc)
          assert.include(JSON.stringify(answer.json), said)
        }
      }
      // It brings a connection along, without which no session begins.
      yield* newSession
      const sparse = ["apps/web", "ä ö/[x]", "packages/ui"]
      const project = { slug: "sparse", name: "s", spec: { repository: { url, sparse } } }
      const { json: made } = yield* change("POST", `${path}/projects`, { headers: bearer, body: project })
      for (const [body, expected] of [
        [{ repository: { url, sparse } }, sparse],
        [{ project_id: textAt(made, "id") }, sparse],
        [{ project_id: textAt(made, "id"), repository: { url } }, null]
      ] as const) {
        const { json: session } = yield* change("POST", `${path}/sessions`, { headers: bearer, body })
        const shown = yield* send("GET", `/api/sessions/${textAt(session, "id")}`, { headers: bearer })
        assert.deepInclude(shown.json, {
          base: { repository: url, ref: null, commit: null, connection_id: null, sparse: expected }
        })
      }
    })
  )

  it.effect("so is a network that names no hosts, and a credential for git without an origin", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const { json } = yield* send("GET", "/api/workspaces", { headers: bearer })
      const path = `/api/workspaces/${textAt(json, "items.0.id")}`
      for (const network of [
        [],
        ["*"],
        ["*.*"],
        ["https://a.example"],
        ["a.example/x"],
        ["A.example"],
        [""],
        ["a b"],
        "all",
        [1]
      ]) {
        const body = { slug: "n", name: "n", spec: { network } }
        const { status } = yield* change("POST", `${path}/projects`, { headers: bearer, body })
        assert.strictEqual(status, 422, JSON.stringify(network))
      }
      for (const origin of [undefined, "./x", "ext::sh", "-x", "git://git.example", "https://ann:word@git.example"]) {
        const credential = { username: "ann", password: "word", ...(origin !== undefined && { origin }) }
        const body = { kind: "git", label: "git", credential }
        const { status } = yield* change("POST", `${path}/connections`, { headers: bearer, body })
        assert.strictEqual(status, 422, origin)
      }
    })
  )
})
