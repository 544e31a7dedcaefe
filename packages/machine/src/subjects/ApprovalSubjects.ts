import { sealSubject } from "@reins/base/base/SealSubject"
import type { SubjectEdit, SubjectGap } from "@reins/base/domain/ApprovalSubject"
import { Effect } from "effect"
import type { AskedCall } from "./AskedCall.js"
import { type AskedFiles, type FoundFile, sessionPathOf } from "./AskedFiles.js"
import { callWords } from "./CallWords.js"
import { placeDiff } from "./PlacedEdits.js"
import { toldDiffs } from "./ToldDiffs.js"

/** The files of one call that are read. Nobody is shown more. */
const mostRead = 201

const outside: FoundFile = { is: "outside" }
const unread: FoundFile = { is: "unread" }

/** The subject of an approval, made of all that the agent has told of its call. `given` is the call as it came, for one that could not be read. */
export const approvalSubject = Effect.fnUntraced(function* (
  told: AskedCall | undefined,
  given: unknown,
  files: AskedFiles
) {
  const call = told && { ...told, diffs: toldDiffs(told) }
  if (call === undefined) return sealSubject({ kind: "unknown", input: jsonOf(given), gaps: ["unknown"] })
  const pathOf = sessionPathOf(files.roots)
  const words = callWords(call, pathOf)
  const places = call.diffs.map(({ path }) => pathOf(path))
  const known = [...new Set(places)].filter((path) => path !== undefined)
  const found = yield* Effect.forEach(
    known.slice(0, mostRead),
    (path) => Effect.map(files.read(path), (file) => [path, file] as const),
    { concurrency: 8 }
  )
  const gaps = new Set<SubjectGap>(words.gaps)
  // A file that is named beside the edits may change without anybody seeing how.
  const beside = call.locations.filter(({ path }) => !places.includes(pathOf(path)))
  if (places.length > 0 && beside.length > 0) gaps.add("unknown")
  return sealSubject({ ...words, edits: editsOf(call, places, new Map(found), gaps), gaps })
})

const jsonOf = (value: unknown): string | null => (value === undefined ? null : (JSON.stringify(value) ?? null))

/** The edits of a call at their places. One edit of a file begins where the one before has left it. */
const editsOf = (
  { diffs, input }: AskedCall,
  places: ReadonlyArray<string | undefined>,
  files: Map<string, FoundFile>,
  gaps: Set<SubjectGap>
): ReadonlyArray<SubjectEdit> => {
  const isEverywhere =
    typeof input === "object" &&
    input !== null &&
    (("replace_all" in input && input.replace_all === true) || ("replaceAll" in input && input.replaceAll === true))
  return diffs.flatMap((diff, at) => {
    const path = places[at]
    const found = path === undefined ? outside : (files.get(path) ?? unread)
    const { after, edits, gap } = placeDiff(path ?? diff.path, found, diff, isEverywhere)
    if (gap !== undefined) gaps.add(gap)
    if (path !== undefined) files.set(path, after)
    return edits
  })
}
