import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answered } from "./Asked.js"
import { type Assumed, answersOf, assumed, hooksOf, judgeOf } from "./RecordedSchemas.js"

const forges = ["github", "gitlab", "gitea"] as const

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

for (const forge of forges)
  describe(`the forge of the tests as ${forge}`, () => {
    it.scopedLive("answers each operation as the recordings have it", () =>
      Effect.gen(function* () {
        const { answers } = yield* answered(forge)
        const judge = judgeOf(forge)
        const found = answers.flatMap(({ body, operation, status }) =>
          judge(operation, status, body).map((difference) => `${operation} ${status}: ${difference}`)
        )
        const differences = new Set(found)
        const known = assumed.flatMap(({ field, forge: of, operation }) =>
          of === forge && field !== undefined ? [`${operation}: ${field}`] : []
        )
        console.log(`recordings: ${forge}, ${answers.length} answers, ${differences.size} differences, all assumed`)
        assert.deepStrictEqual([...differences].sort(), known.sort(), "what differs, and what is assumed")
        const asked = new Set(answers.map(({ operation }) => operation))
        const unasked = Object.keys(answersOf(forge).operations).filter((operation) => !asked.has(operation))
        assert.deepStrictEqual(unasked, [], "operations that are recorded, and of which nobody asks")
      })
    )

    it.scopedLive("gives the pages of a list, and the place of what was made, as the recordings have it", () =>
      Effect.gen(function* () {
        const { answers } = yield* answered(forge)
        const linked = answers.filter(({ headers }) => headers.has("link"))
        assert.isNotEmpty(linked)
        for (const { headers, operation, status } of linked) {
          assert.match(headers.get("link") ?? "", /^<http[^>]+[?&]page=\d+[^>]*>; rel="(?:next|first|last|prev)"/)
          if (forge === "github")
            assert.include(answersOf(forge).operations[operation]?.[status]?.headers ?? [], "Link")
        }
        for (const { headers, operation, status } of answers)
          if (answersOf(forge).operations[operation]?.[status]?.headers?.includes("Location") === true)
            assert.isTrue(headers.has("location"), `${operation} ${status}`)
      })
    )
  })

const recordedIn = ({ forge, operation }: Assumed) => {
  const [, name = operation, status = "200"] = /^(.*?)(?: (\d{3}))?$/.exec(operation) ?? []
  return answersOf(forge).operations[name]?.[status]
}

/** Tells whether the recorded answer of an entry is without a text. An answer that is no longer there tells nothing. */
const without =
  (...texts: ReadonlyArray<string>) =>
  (entry: Assumed): boolean => {
    const recording = recordedIn(entry)
    const shown = JSON.stringify(recording?.answer ?? null)
    return recording !== undefined && texts.every((text) => !shown.includes(text))
  }

/** Tells of each assumed behaviour whether it is still without a recording. */
const stillUnrecorded: Readonly<Record<string, (entry: Assumed) => boolean>> = {
  "the app of a status is in the address of its picture": without("githubusercontent.com/in/"),
  "an account that no test names may write": (entry) => recordedIn(entry)?.published === true,
  "the words unknown and dirty of mergeable_state": without('"mergeable_state":"unknown"', '"mergeable_state":"dirty"'),
  "a comment whose line is gone has no line": (entry) => {
    const answer = recordedIn(entry)?.answer
    return Array.isArray(answer) && answer.every((comment) => isObject(comment) && "line" in comment)
  },
  "the sentence about a pull request that exists already": without("already exists"),
  "the words checking and conflict of detailed_merge_status": without('"checking"', '"conflict"'),
  "fields without a recorded answer are empty": (entry) => recordedIn(entry)?.published === false,
  "no recording has a body of the event status": ({ forge }) =>
    Object.values(hooksOf(forge).bodies).every(({ event }) => event !== "status"),
  "what a host answers to somebody without a login": (entry) => recordedIn(entry) === undefined,
  "no recording has the headers of a call": ({ forge }) =>
    Object.values(hooksOf(forge).bodies).every((recording) => !("headers" in recording))
}

describe("the list of what is assumed", () => {
  it("has a reason for each entry, and no behaviour that a recording has", () => {
    for (const entry of assumed) {
      const name = `${entry.forge} ${entry.operation}: ${entry.field ?? entry.behaviour}`
      assert.isAbove(entry.reason.length, 20, name)
      assert.strictEqual(entry.field === undefined, entry.behaviour !== undefined, name)
      if (entry.behaviour !== undefined) assert.isTrue(stillUnrecorded[entry.behaviour]?.(entry), name)
    }
  })
})
