import { assert, describe, it, layer as suiteOver } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { Connections } from "@reins/core/connections/Connections"
import { Accounts } from "@reins/core/identity/Accounts"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Messages } from "@reins/core/sessions/Messages"
import { countInIndex, forgetting } from "@reins/core/sessions/rows/SearchIndex"
import { scopeOf, searchWords, termsOf } from "@reins/core/sessions/rows/Words"
import { sessionRemoval } from "@reins/core/sessions/SessionRemoval"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SearchScopes } from "@reins/core/sessions/search/SearchScopes"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { anyText } from "@reins/testing/AnyText"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Runtime } from "effect"
import fc from "fast-check"

interface Owner {
  readonly principal: Principal
  readonly workspaceId: string
}

const base = new Intl.Collator("en", { sensitivity: "base" })

/** The search as a person would do it, word by word and without an index. */
const has = (text: string, query: string): boolean => {
  const split = (of: string) => of.split(/[^\p{L}\p{N}\p{M}]+/u).filter((word) => word !== "")
  const wanted = split(query)
  const words = split(text)
  return (
    wanted.length > 0 &&
    wanted.every((each, index) =>
      words.some(
        (word) =>
          base.compare(index === wanted.length - 1 ? [...word].slice(0, [...each].length).join("") : word, each) === 0
      )
    )
  )
}

const words = [
  "merge",
  "Merge",
  "merged",
  "ÉTÉ",
  "eté",
  "straße",
  "привет",
  "Привет42",
  "x",
  "x1",
  "naïve",
  "नमस्ते",
  "𝒳",
  "OR",
  "near"
]
const gaps = [
  " ",
  ", ",
  "\n",
  '"',
  "'",
  " AND ",
  " & ",
  "* ",
  ":",
  "(",
  ")",
  "-",
  "^",
  "\\",
  " | ",
  "!",
  "<->",
  "%",
  "_"
]

const textOfWords = (constraints: fc.ArrayConstraints) =>
  fc
    .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...gaps)), constraints)
    .map((pairs) => pairs.map((pair) => pair.join("")).join(""))

/** A text of the words, and sometimes only the beginning of its last one. */
const query = fc
  .tuple(textOfWords({ minLength: 1, maxLength: 3 }), fc.constantFrom(...words), fc.nat(4))
  .map(([text, last, length]) => text + [...last.normalize("NFC")].slice(0, length + 1).join(""))

const unspaced = fc.array(fc.constantFrom(..."東京都庁の検索はカタカナ"), { minLength: 1, maxLength: 12 })

describe("the words of a search", () => {
  it("a text is found by any of its own beginnings of words, whatever it consists of", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 60 }), (text) => {
        const indexed = new Set(searchWords(text))
        for (const { word } of termsOf(text)) assert.isTrue(indexed.has(word), JSON.stringify([text, word]))
      })
    )
  })

  it("a text without spaces is found by any piece of it", () => {
    fc.assert(
      fc.property(unspaced, fc.nat(11), fc.nat(11), (characters, from, length) => {
        const piece = characters.slice(from % characters.length).slice(0, length + 1)
        const indexed = new Set(searchWords(`see ${characters.join("")}!`))
        for (const { word } of termsOf(piece.join(""))) assert.isTrue(indexed.has(word), word)
      })
    )
  })

  it("the words of a text stay below what a database takes, also of hostile ones", () => {
    for (const text of ["ﷺ", "𠀀𠀁𠀂", "x", "x ", "é"])
      for (const word of searchWords(text.repeat(100_000))) assert.isAtMost(Buffer.byteLength(word), 300)
    const many = searchWords(
      Array.from({ length: 60_000 }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7) % 20_000))).join("")
    )
    assert.isAtMost(Buffer.byteLength(many.join(" ")), 400_001)
  })
})

/** Has all texts with their workspace, so that SQLite finds by its index and walks only for what many have. */
const scopeAll = Effect.flatMap(SearchScopes, ({ proceed }) =>
  Effect.repeat(proceed, { until: (pause) => pause === undefined })
)

for (const { layer, name } of flowDatabases) {
  describe(`the search of sessions on ${name}`, () => {
    suiteOver(services(layer), { excludeTestServices: true })((it) => {
      it.effect("finds the sessions that a search without an index finds, page by page and with filters", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const messages = yield* Messages
          const told: Array<{ readonly id: string; readonly team: string; readonly texts: ReadonlyArray<string> }> = []
          const texts = fc.array(textOfWords({ minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 })
          for (const [index, [title = "", ...said]] of fc.sample(texts, { numRuns: 24, seed: 7 }).entries()) {
            const team = index % 2 === 0 ? "a" : "b"
            const { id } = yield* sessions.create(principal, workspaceId, { title: "before", labels: { team } })
            yield* sessions.update(principal, id, { title })
            for (const content of said) yield* messages.send(principal, id, { content, routing: "note" })
            told.unshift({ id, team, texts: [title, ...said] })
          }
          const runtime = yield* Effect.runtime<Sessions>()
          const check = Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(query, fc.constantFrom(undefined, "a"), (q, team) =>
                Effect.gen(function* () {
                  const found: Array<string> = []
                  let cursor: string | null | undefined
                  while (cursor !== null) {
                    const page: Effect.Effect.Success<ReturnType<typeof sessions.list>> = yield* sessions.list(
                      principal,
                      workspaceId,
                      { q, limit: 5, ...(team && { label: `team=${team}` }), ...(cursor !== undefined && { cursor }) }
                    )
                    found.push(...page.items.map(({ id }) => id))
                    cursor = page.next_cursor
                  }
                  const expected = told.filter(
                    (session) =>
                      (team === undefined || session.team === team) && session.texts.some((text) => has(text, q))
                  )
                  assert.deepStrictEqual(
                    found,
                    expected.map(({ id }) => id),
                    q
                  )
                }).pipe(Runtime.runPromise(runtime))
              ),
              { numRuns: 75 }
            )
          )
          yield* check
          yield* scopeAll
          yield* check
        })
      )

      it.effect("a search meets no word of another workspace, neither in the index nor by its beginning", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const db = yield* Database
          const sessions = yield* Sessions
          const other = yield* (yield* Accounts).createVerified({ email: "tenant@example.com", password: null })
          const theirs: Principal = { ...principal, accountId: other.id }
          const [own] = (yield* (yield* Workspaces).list(theirs, {})).items
          const connections = yield* Connections
          const connection = yield* connections.create(theirs, own?.id ?? "", {
            kind: "alpha_gateway",
            label: "theirs",
            credential: { base_url: "http://127.0.0.1:9/v1", api_key: "k".repeat(32) }
          })
          yield* connections.update(theirs, connection.id, { preferred_model: "scripted-1" })
          const secret = [
            "quartz",
            scopeOf(workspaceId),
            `${scopeOf(workspaceId)}quartz`,
            scopeOf(workspaceId).slice(1)
          ]
          for (const title of secret) yield* sessions.create(theirs, own?.id ?? "", { title: `theirs ${title}` })
          yield* scopeAll
          for (const q of ["quar", "theirs", ...secret]) {
            assert.deepStrictEqual((yield* sessions.list(principal, workspaceId, { q })).items, [], q)
            if (db.dialect === "sqlite") assert.strictEqual(yield* countInIndex(db, workspaceId, termsOf(q), 10), 0, q)
          }
          assert.lengthOf((yield* sessions.list(theirs, own?.id ?? "", { q: "quartz" })).items, 1)
        })
      )

      it.effect(
        "titles that change at once in one commit are found by the last alone, and the index has no word of others",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const db = yield* Database
            const sessions = yield* Sessions
            const journal = yield* Journal
            const { forgetWords } = yield* sessionRemoval
            const made = yield* Effect.forEach(["kept", "forgotten"], (title) =>
              sessions.create(principal, workspaceId, { title })
            )
            const [kept, forgotten] = made.map(({ id }) => id)
            if (kept === undefined || forgotten === undefined) return assert.fail("no sessions")
            const changes = Array.from({ length: 20 }, (_, index) => [
              sessions.update(principal, kept, { title: `title${index}` }),
              index === 9
                ? journal.commit(forgetWords(forgotten, 9))
                : sessions.update(principal, kept, { title: null })
            ])
            yield* Effect.all(changes.flat(), { concurrency: "unbounded" })
            yield* sessions.update(principal, kept, { title: "last" })
            const found = (q: string) =>
              Effect.map(sessions.list(principal, workspaceId, { q }), ({ items }) => items.map(({ id }) => id))
            assert.deepStrictEqual(yield* Effect.forEach(["last", "title", "forgotten"], found), [[kept], [], []])
            if (db.dialect === "sqlite")
              yield* db.run(db.sql`insert into search_words (search_words, rank) values ('integrity-check', 1)`)
          })
      )

      it.effect("no text is an error, and what a principal may not see is not found", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const accounts = yield* Accounts
          const workspaces = yield* Workspaces
          const other = yield* accounts.createVerified({ email: "stranger@example.com", password: null })
          const theirs: Principal = { ...principal, accountId: other.id }
          const [own] = (yield* workspaces.list(theirs, {})).items
          const stranger = { principal: theirs, workspaceId: own?.id ?? workspaceId }
          const sessions = yield* Sessions
          const { id } = yield* sessions.create(principal, workspaceId, { title: "A secret plan" })
          const idsOf = (of: Owner, q: string) =>
            Effect.map(sessions.list(of.principal, of.workspaceId, { q }), ({ items }) => items.map((item) => item.id))
          assert.deepStrictEqual(yield* idsOf({ principal, workspaceId }, "SECRET pl"), [id])
          assert.deepStrictEqual(yield* idsOf(stranger, "secret"), [])
          for (const q of ["", '"', "'", "* AND", "a:b", "NEAR(a b)", "!", "\\", "a & | !", "(((", "\u0000"])
            yield* idsOf(stranger, q)
          const runtime = yield* Effect.runtime()
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(anyText({ maxLength: 40 }), (q) =>
                Runtime.runPromise(runtime)(Effect.asVoid(idsOf(stranger, q)))
              ),
              { numRuns: 60 }
            )
          )
        })
      )
    })

    it.scopedLive("texts of an earlier release are found at once, and by the index of their workspace later", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const db = yield* Database
        const { sql } = db
        const sessions = yield* Sessions
        const titles = ["old words", "older", "vieux ciné", "大阪府", "7", "old ".repeat(400)]
        const made = yield* Effect.forEach(titles, (title) => sessions.create(principal, workspaceId, { title }))
        // As that release has written them.
        for (const [index, { id }] of made.entries()) {
          const words = searchWords(titles[index] ?? "").join(" ")
          const row = sql`session_id = ${id}`
          if (db.dialect === "sqlite") yield* (yield* Journal).commit(db.run(forgetting(db, row)))
          const column = db.dialect === "pg" ? sql`array_to_tsvector(string_to_array(${words}, ' '))` : sql`${words}`
          yield* db.run(sql`update search_documents set words = ${column} where ${row}`)
          if (db.dialect === "sqlite")
            yield* db.run(
              sql`insert into search_words (rowid, words) select id, words from search_documents where ${row}`
            )
        }
        yield* db.run(sql`delete from agreements where name = 'search_scoped'`)
        const found = (q: string) =>
          Effect.map(sessions.list(principal, workspaceId, { q }), ({ items }) => items.map(({ id }) => id))
        const [words, older, french, osaka, seven, many] = made.map(({ id }) => id)
        const right = Effect.gen(function* () {
          assert.deepStrictEqual(yield* found("old"), [many, older, words])
          assert.deepStrictEqual(yield* found("old words"), [words])
          assert.deepStrictEqual(yield* found("CINE"), [french])
          assert.deepStrictEqual(yield* found("大阪"), [osaka])
          assert.deepStrictEqual(yield* found("7"), [seven])
          assert.deepStrictEqual(yield* found("nobody"), [])
        })
        yield* right
        yield* scopeAll
        yield* right
        const plain = yield* db.first(
          db.dialect === "pg"
            ? sql<{ count: number }>`select cast(count(*) as integer) as count from search_documents
                where not words @@ ${`'${scopeOf(workspaceId)}':*`}::tsquery`
            : sql<{
                count: number
              }>`select count(*) as count from search_documents where instr(words, ${scopeOf(workspaceId)}) = 0`
        )
        assert.strictEqual(plain?.count, 0)
        if (db.dialect === "sqlite")
          yield* db.run(sql`insert into search_words (search_words, rank) values ('integrity-check', 1)`)
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
