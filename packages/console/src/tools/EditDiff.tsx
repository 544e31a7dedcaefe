import { escapeUnseen } from "@reins/client"
import { structuredPatch } from "diff"
import { useMemo } from "preact/hooks"
import { useHighlight } from "../highlight/Highlight.js"
import { languageOfFile } from "../highlight/Languages.js"
import { LineText } from "../review/DiffLine.js"
import { type Line, withChanges } from "../review/DiffRows.js"
import { count } from "../words/Words.js"
import type { Edit } from "./ToolLine.js"

/** More lines are counted and not shown. */
const usualMost = 400

/** The lines of a change, with three lines around each. */
const linesOf = ({ after, before, path }: Edit): ReadonlyArray<Line> => {
  const { hunks } = structuredPatch(path, path, before ?? "", after ?? "", "", "", { context: 3 })
  return hunks.flatMap(({ lines, newStart, oldStart }) => {
    let [old, now] = [oldStart, newStart]
    return withChanges(
      lines
        .filter((line) => !line.startsWith("\\"))
        .map((line): Line => {
          const text = line.slice(1)
          if (line.startsWith("-")) return { kind: "delete", text, before: old++, after: null, changed: null }
          if (line.startsWith("+")) return { kind: "insert", text, before: null, after: now++, changed: null }
          return { kind: "context", text, before: old++, after: now++, changed: null }
        })
    )
  })
}

/** The number of a line in its file. It has none where the place of the change is not known. */
const numberOf = ({ after, before }: Line, first: number): number => first - 1 + (after ?? before ?? 1)

/** A change of a file as the rows of a diff. */
export const EditDiff = ({ edit, most = usualMost }: { readonly edit: Edit; readonly most?: number }) => {
  const path = escapeUnseen(edit.path)
  const before = edit.before === null ? null : escapeUnseen(edit.before)
  const after = edit.after === null ? null : escapeUnseen(edit.after)
  const lines = useMemo(() => linesOf({ path, before, after }), [path, before, after])
  const language = languageOfFile(path)
  const old = useHighlight(language, before ?? "")
  const now = useHighlight(language, after ?? "")
  const [added, deleted] = [
    lines.filter(({ kind }) => kind === "insert"),
    lines.filter(({ kind }) => kind === "delete")
  ]
  return (
    <figure class="edit" aria-label={`Change of ${path}`}>
      <figcaption>
        <code>{path}</code>{" "}
        <span class="delta">
          <ins>+{added.length}</ins> <del>−{deleted.length}</del>
        </span>
        <span class="fine"> {sortOf(edit)}</span>
      </figcaption>
      {lines.slice(0, most).map((line, index) => (
        <div key={`${index}`} class={`diff-line one ${line.kind}`}>
          {edit.line != null && <span class="number">{numberOf(line, edit.line)}</span>}
          <LineText
            line={line}
            spans={line.kind === "delete" ? old?.[(line.before ?? 0) - 1] : now?.[(line.after ?? 0) - 1]}
          />
        </div>
      ))}
      {lines.length === 0 && edit.before !== edit.after && <p class="fine">Only the ends of lines change.</p>}
      {lines.length > most && <p class="fine">And {count(lines.length - most, "more line")}.</p>}
    </figure>
  )
}

/** The sort of a change, where it is no change of lines. */
const sortOf = ({ after, before, line }: Edit): string => {
  if (after === null) return "deleted"
  if (before !== null) return line === null ? "at a place that is not known" : ""
  return line == null ? "whole text" : "new file"
}
