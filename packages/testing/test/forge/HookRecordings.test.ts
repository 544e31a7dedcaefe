import { createServer, type IncomingHttpHeaders } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { holds, pickAt } from "@reins/core/automations/Filters"
import { payloadText } from "@reins/core/automations/PayloadText"
import { deliveryIdOf, eventOf, HookMac, proofOf } from "@reins/core/hooks/HookSignatures"
import { jsonOf } from "@reins/core/hooks/JsonText"
import { requestsIn } from "@reins/core/requests/looks/HookBodies"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { dialects } from "@reins/testing/forge/ForgeDialects"
import type { ForgeNews } from "@reins/testing/forge/ForgeHookCalls"
import { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { Effect, Redacted } from "effect"
import { hooksOf } from "./RecordedSchemas.js"

const forges = ["github", "gitlab", "gitea"] as const

const suite = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
const hello = "Codertocat/Hello-World"
const pull = [hello, { number: 2 }]
const nothing = undefined

/** The repository and the merge requests that each recorded body names. A body that is about none names nothing. */
const readings: Readonly<Record<(typeof forges)[number], Readonly<Record<string, unknown>>>> = {
  github: {
    "check_run.created": [hello, { number: 2 }, { headSha: suite }],
    "check_run.completed": [hello, { number: 2 }, { headSha: suite }],
    "check_suite.completed": [hello, { number: 2 }, { headSha: suite }],
    "issue_comment.created": nothing,
    "issues.opened": nothing,
    ping: nothing,
    "pull_request.opened": pull,
    "pull_request.synchronize": pull,
    "pull_request_review.submitted": pull,
    "pull_request_review_comment.created": pull,
    "pull_request_review_thread.resolved": pull,
    push: [hello, { headBranch: "master" }],
    status: [hello, { headSha: "6113728f27ae82c7b1a177c8d03f9e96e0adf246" }],
    "workflow_job.completed": [hello, { headSha: "3484a3fb816e0859fd6e1cea078d76385ff50625" }],
    "workflow_run.completed": ["octo-org/octo-repo", { headSha: "3484a3fb816e0859fd6e1cea078d76385ff50625" }]
  },
  gitlab: {
    build: ["gitlab-org/gitlab-test", { headSha: "2293ada6b400935a1378653304eaf6221e0fdb8f" }],
    "build.success": ["jsmithy2/release-tools-fake", { headSha: "95d49d1efbd941908580e79d65e4b5ecaf4a8305" }],
    issue: nothing,
    merge_request: ["gitlabhq/gitlab-test", { number: 1 }],
    "note.issue": nothing,
    "note.merge_request": ["gitlab-org/gitlab-test", { number: 1 }],
    pipeline: ["gitlab-org/gitlab-test", { number: 1 }, { headSha: "bcbb5ec396a2c0f828686f14fac9b80b780504f2" }],
    push: ["mike/diaspora", { headBranch: "master" }]
  },
  gitea: {
    "issue_comment.created": nothing,
    "issues.opened": nothing,
    "pull_request.closed": ["anbraten/test-repo", { number: 1 }],
    "pull_request.opened": ["jcitizen/my-repo", { number: 1 }],
    "pull_request.synchronized": ["Test-CI/multi-line-secrets", { number: 2 }],
    "pull_request_approved.reviewed": ["a_nice_user/hello_world_ci", { number: 7 }],
    "pull_request_comment.created": ["gogits/hello-world", { number: 2 }],
    "pull_request_comment.reviewed": ["a_nice_user/hello_world_ci", { number: 7 }],
    push: ["meisam/woodpecktester", { headBranch: "fdsafdsa" }]
  }
}

const secret = "a-secret-of-a-hook"
const head = "c".repeat(40)

interface Call {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** The hooks of a forge in its own words, for all that it tells. */
const wanted = {
  github: (url: string) => ({
    events: ["push", "pull_request", "pull_request_review", "pull_request_review_comment", "check_run", "status"],
    config: { url, secret, content_type: "json" }
  }),
  gitlab: (url: string) => ({
    url,
    token: secret,
    push_events: true,
    merge_requests_events: true,
    note_events: true,
    job_events: true
  }),
  gitea: (url: string) => ({
    events: ["push", "pull_request_sync", "pull_request_review", "pull_request_comment", "status"],
    config: { url, secret, content_type: "json" }
  })
}

/** A forge of the tests with a hook, and the calls of that. */
const calling = (forge: (typeof forges)[number], repository: string) =>
  Effect.gen(function* () {
    const calls: Array<Call> = []
    const port = yield* onLoopback(() =>
      createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          calls.push({ headers: request.headers, body: Buffer.concat(chunks) })
          response.writeHead(202).end()
        })
      })
    )
    const server = new ForgeServer(dialects[forge](repository), "token", { headOf: () => head, merge: () => undefined })
    server.hooks.add(wanted[forge](`http://127.0.0.1:${port}/hooks/in/hok_1`))
    const tell = (news: ForgeNews) =>
      Effect.gen(function* () {
        const before = server.calls.length
        server.tellHooks(news)
        yield* Effect.promise(() => Promise.all(server.calls.slice(before)))
        return calls.splice(0)
      })
    return { server, tell }
  })

/** The recorded body that each piece of news is made of, and what is to be read of it. */
const told = {
  push: { github: "push", gitlab: "push", gitea: "push", reads: { headBranch: "work" } },
  merge_request: {
    github: "pull_request.synchronize",
    gitlab: "merge_request",
    gitea: "pull_request.synchronized",
    reads: { number: 1 }
  },
  comment: {
    github: "pull_request_review_comment.created",
    gitlab: "note.merge_request",
    gitea: "pull_request_comment.created",
    reads: { number: 1 }
  },
  review: {
    github: "pull_request_review.submitted",
    gitlab: "merge_request",
    gitea: "pull_request_approved.reviewed",
    reads: { number: 1 }
  },
  check: { github: "check_run.completed", gitlab: "build.success", gitea: undefined, reads: { headSha: head } }
} as const

for (const forge of forges)
  describe(`hooks of ${forge}`, () => {
    const { bodies } = hooksOf(forge)

    it("are recorded for the readings of this test", () =>
      assert.deepStrictEqual(Object.keys(bodies).sort(), Object.keys(readings[forge]).sort()))

    for (const [name, { body }] of Object.entries(bodies))
      it(`${name} rings what it is about, and goes to an automation whole`, () => {
        const found = requestsIn(forge, body)
        assert.deepStrictEqual(found && [found.repository, ...found.named], readings[forge][name])
        const bytes = Buffer.from(JSON.stringify(body))
        assert.deepStrictEqual(jsonOf(bytes)?.value, body)
        assert.strictEqual(payloadText(body, undefined, 64 * 1024), JSON.stringify(body))
        const pointer = forge === "gitlab" ? "/object_kind" : "/repository/full_name"
        const value = pickAt(body, pointer)
        assert.isString(value)
        assert.isTrue(holds({ pointer, is: String(value) }, body))
      })

    it.scopedLive("that the forge of the tests sends have the size, the form and the headers of recorded ones", () =>
      Effect.gen(function* () {
        const repository = forge === "gitlab" ? "acme/tools/shop" : "acme/shop"
        const { server, tell } = yield* calling(forge, repository)
        const pulled = server.add({ head: "work", base: "main" })
        const check = server.check({ head, name: "build", state: "passed" })
        const news: ReadonlyArray<ForgeNews> = [
          { what: "merge_request", pull: pulled, sha: head },
          { what: "comment", pull: pulled, author: "bo" },
          { what: "review", pull: pulled, author: "bo" },
          { what: "check", check },
          { what: "push", branch: "other", sha: head, before: "b".repeat(40) }
        ]
        const sizes: Array<number> = []
        for (const each of news) {
          const [call, ...others] = yield* tell(each)
          assert.lengthOf(others, 0)
          if (call === undefined) return assert.fail(`nothing was told of ${each.what}`)
          const { body: bytes, headers } = call
          const header = (name: string) => {
            const value = headers[name]
            return typeof value === "string" ? value : undefined
          }
          const mac = yield* HookMac
          const given = { header, body: bytes }
          assert.isDefined(proofOf(forge, [Redacted.make(secret)], given, Date.now(), mac), each.what)
          assert.isUndefined(proofOf(forge, [Redacted.make("another")], given, Date.now(), mac), each.what)
          assert.isDefined(deliveryIdOf(forge, header))
          const { value } = jsonOf(bytes) ?? { value: undefined }
          const about = requestsIn(forge, value)
          assert.strictEqual(about?.repository, repository, each.what)
          const { [forge]: name, reads } = told[each.what]
          const expected = each.what === "push" ? { headBranch: "other" } : reads
          assert.deepInclude<unknown>(about?.named ?? [], expected, each.what)
          const recording = name === undefined ? undefined : bodies[name]
          if (recording !== undefined) {
            assert.strictEqual(eventOf(forge, given, value), recording.event, each.what)
            assert.isAbove(bytes.length, JSON.stringify(recording.body).length * 0.8, each.what)
            assert.includeMembers(Object.keys(Object(value)), Object.keys(recording.body), each.what)
          }
          sizes.push(bytes.length)
        }
        console.log(`recordings: hooks of ${forge} have ${sizes.join(", ")} bytes`)
      })
    )
  })
