import { assert, describe, it } from "@effect/vitest"
import { builtInForges } from "@reins/machine/forge/Forges"
import type { ForgeView, ViewPart } from "@reins/machine/forge/ForgeView"
import { dialects } from "@reins/testing/forge/ForgeDialects"
import type { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { allowed, forgeOf, request } from "@reins/testing/forge/ForgeSuite"
import type { Change, Path } from "@reins/testing/world/Answer"
import { openBetween } from "@reins/testing/world/Between"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement } from "@reins/testing/world/Changes"
import { Effect, Either } from "effect"

const repository = "acme/shop"

/**
 * A list of a forge: a part of its path, its place in the answer, and the fields that are read of an element. The odd element is the
 * second one unless `at` says otherwise. `assumed` are the words that a forge has for something else.
 */
interface Listed {
  readonly path: string
  readonly list: Path
  readonly at?: number
  readonly assumed?: Readonly<Record<string, string>>
  readonly fields: ReadonlyArray<string>
}

const checkLists: Readonly<Record<string, Listed>> = {
  github: {
    path: "/check-runs?",
    list: ["check_runs"],
    fields: ["id", "name", "status", "conclusion", "started_at", "html_url", "app", "app.id", "check_suite"]
  },
  gitlab: {
    path: "/statuses?",
    list: [],
    fields: ["id", "name", "status", "ref", "pipeline_id", "allow_failure", "started_at", "target_url"]
  },
  gitea: { path: "/statuses?", list: [], fields: ["id", "context", "status", "target_url", "created_at"] }
}

const reviewLists: Readonly<Record<string, Listed>> = {
  github: {
    path: "/reviews?",
    list: [],
    fields: ["id", "user", "user.login", "body", "state", "commit_id", "submitted_at", "html_url"]
  },
  gitlab: { path: "/reviewers?", list: [], fields: ["user", "user.username", "state", "created_at"] },
  gitea: {
    path: "/reviews?",
    list: [],
    fields: ["id", "user", "user.login", "body", "state", "commit_id", "official", "submitted_at"],
    assumed: { 'state ""': "Gitea says so of a review that is being written, which is none." }
  }
}

const lineLists: Readonly<Record<string, Listed>> = {
  github: {
    path: "/pulls/1/comments?",
    list: [],
    fields: ["id", "user", "user.login", "body", "path", "line", "side", "subject_type", "created_at", "html_url"]
  },
  // The first discussion is one of the system.
  gitlab: {
    path: "/discussions?",
    list: [],
    at: 2,
    fields: [
      "id",
      "individual_note",
      "notes",
      "notes.0",
      ...["id", "author", "author.username", "body", "created_at", "position", "resolvable", "resolved", "system"].map(
        (field) => `notes.0.${field}`
      ),
      ...["new_path", "old_path", "new_line", "head_sha"].map((field) => `notes.0.position.${field}`)
    ]
  },
  // Each line has a review of its own with one comment.
  gitea: {
    path: "/reviews/",
    list: [],
    at: 0,
    fields: ["id", "user", "user.login", "body", "path", "commit_id", "position", "original_position", "resolver"]
  }
}

const talkLists: Readonly<Record<string, Listed>> = {
  github: {
    path: "/issues/1/comments?",
    list: [],
    fields: ["id", "user", "user.login", "user.type", "body", "created_at", "html_url"]
  },
  gitea: {
    path: "/issues/1/comments",
    list: [],
    fields: ["id", "user", "user.login", "body", "created_at", "html_url"]
  }
}

const isSentence = (message: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  message !== "" && message.length <= 1_300 && !/[\u0000-\u001f\u202e]|check the base URL|ParseError/.test(message)

const aside = new Set(["body", "identity", "key", "path"])

/** The fault of a part that was read of a changed list. `isThere` says which part of the truth has to be read. */
const ofPart = <A>(
  part: ViewPart<ReadonlyArray<A>>,
  { kind, name }: Change,
  isThere: (value: ReadonlyArray<A>, wholly: boolean) => boolean
): ReadonlyArray<string> => {
  if (part.state === "unchanged") return ["it was not asked for"]
  if (part.state === "unread") {
    const html = name.includes("HTML")
    if (kind !== "lost") return [`one costs all: ${part.message}`]
    return html || isSentence(part.message) ? [] : [`no sentence: ${part.message}`]
  }
  if (kind === "lost") return ["nothing was told, and something was read"]
  const problems = isThere(part.value, false) ? [] : ["the others are lost"]
  if (kind === "same" && !(part.complete && isThere(part.value, true))) problems.push("the truth is lost")
  if (part.complete && !isThere(part.value, true)) problems.push("it is whole, and the odd one is a yes")
  if (!part.complete && part.odd.length === 0) problems.push("nothing is named")
  // Bodies and paths stay as they are, and identities are for programs.
  const shown = JSON.stringify(part.value, (field, value) => (aside.has(field) ? undefined : value))
  if (/\\u0007|\u202e/.test(shown)) problems.push("control characters go on")
  return problems
}

const borders: ReadonlyArray<{
  readonly what: string
  readonly lists: Readonly<Record<string, Listed>>
  /** Fills the forge, and gives another part of the path than that of the list where it has to. */
  readonly fill: (server: ForgeServer, head: string, kind: string) => string | undefined
  readonly judge: (view: ForgeView, change: Change) => ReadonlyArray<string>
}> = [
  {
    what: "the checks",
    lists: checkLists,
    fill: (server, head) => {
      for (const [name, state] of [
        ["build", "passed"],
        ["odd", "failed"],
        ["lint", "passed"]
      ] as const)
        server.check({ head, name, state })
      return undefined
    },
    judge: ({ checks }, change) =>
      ofPart(checks, change, (value, wholly) => {
        const passing = value.filter(({ state }) => state === "passing").map(({ name }) => name)
        const against = value.filter(({ optional, state }) => !optional && state !== "passing" && state !== "skipped")
        return ["build", "lint"].every((name) => passing.includes(name)) && (!wholly || against.length === 1)
      })
  },
  {
    what: "the reviews",
    lists: reviewLists,
    fill: (server) => {
      server.review({ author: "bob", state: "approved" })
      server.review({ author: "cleo", state: "changes_requested" })
      server.review({ author: "dan", state: "commented" })
      return undefined
    },
    judge: ({ reviews }, change) =>
      ofPart(reviews, change, (value, wholly) => {
        const isKept = value.some(({ author, state }) => author.login === "bob" && state === "approved")
        return isKept && (!wholly || value.some(({ state }) => state === "changes_requested"))
      })
  },
  {
    what: "the comments on lines",
    lists: lineLists,
    fill: (server, _, kind) => {
      const said = ["a.txt", "odd.txt", "z.txt"].map((path, line) =>
        server.comment({ author: "bob", body: "Why?", place: { path, line: line + 1, side: "new" } })
      )
      return kind === "gitea" ? `/reviews/${100_000 + (said[1]?.id ?? 0)}/comments` : undefined
    },
    judge: ({ threads }, change) =>
      ofPart(threads, change, (value, wholly) => {
        const paths = value.filter(({ resolved }) => resolved === false).map(({ path }) => path)
        return paths.includes("a.txt") && paths.includes("z.txt") && (!wholly || paths.length === 3)
      })
  },
  {
    what: "the comments",
    lists: talkLists,
    fill: (server) => {
      for (const body of ["First", "Odd", "Last"]) server.comment({ author: "bob", body })
      return undefined
    },
    judge: ({ threads }, change) =>
      ofPart(threads, change, (value, wholly) => {
        const bodies = value.flatMap(({ comments }) => comments.map(({ body }) => body))
        return bodies.includes("First") && bodies.includes("Last") && (!wholly || value.length === 3)
      })
  }
]

describe("the world of forges", () => {
  for (const { fill, judge, lists, what } of borders)
    for (const [kind, { assumed = {}, at = 1, fields, list, path }] of Object.entries(lists))
      it.scopedLive(`${what} of ${kind}`, () =>
        Effect.gen(function* () {
          const forge = builtInForges.find((each) => each.kind === kind) ?? assert.fail(`there is no ${kind}`)
          const dialect = (Object.entries(dialects).find(([name]) => name === kind)?.[1] ?? dialects.github)(repository)
          let picked = path
          const given = yield* forgeOf(
            { forge, repository, dialect },
            { through: (url) => openBetween(url, (sent) => sent.method === "GET" && sent.path.includes(picked)) }
          )
          const { between } = given
          if (between === undefined) return assert.fail("there is no proxy")
          const { headSha, number } = yield* given.forge.create(request)
          picked = fill(given.server, headSha, kind) ?? path
          const all = [...changesOfElement(list, at, fields), ...changesOfAnswer(list)]
          const changes = kind === "github" && what === "the checks" ? all : tenthOf(all)
          const { tried, wrong } = yield* tryBorder({
            name: `${kind}: ${what}`,
            changes,
            assumed,
            ask: (change) =>
              Effect.gen(function* () {
                Object.assign(between, { change, picked: 0, fault: undefined })
                const found = yield* Effect.either(given.forge.view(number, {}))
                if (between.picked === 0 || between.fault !== undefined)
                  return yield* Effect.dieMessage(`the change was not made: ${String(between.fault)}`)
                if (Either.isRight(found)) return judge(found.right, change)
                const { kind: why, message } = found.left
                return why === "rate_limited" && isSentence(message) ? [] : [`the view failed: ${message}`]
              })
          })
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(tried, 5)
        }).pipe(Effect.provide(allowed))
      )
})
