import { useComputed, useSignal } from "@preact/signals"
import { useEffect, useMemo, useRef } from "preact/hooks"
import { useHighlight } from "../highlight/Highlight.js"
import { languageOfFile } from "../highlight/Languages.js"
import { useKeys } from "../palette/Keys.js"
import { VirtualList } from "../ui/VirtualList.js"
import { filesOf } from "./DiffFiles.js"
import { LineText } from "./DiffLine.js"
import { type FileDiff, inOrder, type Line, type Place, type Row, rowsOf, sideOf } from "./DiffRows.js"
import { FileTree } from "./FileTree.js"
import { type Comment, placeKey, type Review } from "./Review.js"

/** A diff of any length, with a tree of its files. */
export const DiffView = ({
  diff,
  isSplit,
  review
}: {
  readonly diff: string
  readonly isSplit: boolean
  readonly review: Review
}) => {
  const files = useMemo(() => inOrder(filesOf(diff)), [diff])
  const rows = useMemo(() => rowsOf(files, isSplit, review.viewed.value), [files, isSplit, review.viewed.value])
  const top = useSignal(0)
  const writing = useSignal<string | undefined>(undefined)
  const reveal = useRef<((index: number) => void) | undefined>(undefined)
  const comments = useComputed(() => new Map(review.comments.value.map((each) => [placeKey(each), each])))
  const seen = rows[top.value]?.file ?? 0
  const given = { writing, comments: comments.value, review, files }
  const open = (index: number) => reveal.current?.(rows.findIndex((row) => row.kind === "file" && row.file === index))
  useKeys({
    n: () => open(Math.min(files.length - 1, seen + 1)),
    p: () => open(Math.max(0, seen - 1))
  })
  useEffect(() => {
    const wanted = placeOfAddress()
    const file = files.findIndex(({ path }) => path === wanted?.path)
    if (wanted === undefined || file < 0) return
    const line = rows.findIndex((row) => row.file === file && isAt(row, wanted.line))
    reveal.current?.(line < 0 ? rows.findIndex((row) => row.file === file) : Math.max(0, line - 3))
  }, [files])
  return (
    <div class="diff">
      <FileTree files={files} seen={seen} viewed={review.viewed.value} open={open} />
      <div class="diff-main">
        <p class="diff-file" aria-hidden="true">
          {files[seen]?.path}
        </p>
        <VirtualList
          items={rows}
          keyOf={(row) => `${isSplit}.${row.key}`}
          estimate={(row) => (row.kind === "file" ? 42 : row.kind === "hunk" ? 26 : 20)}
          label="Diff"
          onTop={(index) => {
            if (top.peek() !== index) top.value = index
          }}
          reveal={reveal}
          render={(row) => <RowView row={row} {...given} />}
        />
      </div>
    </div>
  )
}

interface RowProps {
  readonly row: Row
  readonly writing: { value: string | undefined }
  readonly comments: ReadonlyMap<string, Comment>
  readonly review: Review
  readonly files: ReadonlyArray<FileDiff>
}

/** The place that the address names, as in `#src/a.ts:12`. */
const placeOfAddress = (): { readonly path: string; readonly line: number | undefined } | undefined => {
  if (location.hash.length < 2) return undefined
  const [, path = "", line] = /^(.*?)(?::(\d+))?$/.exec(decodeURIComponent(location.hash.slice(1))) ?? []
  return { path, line: line === undefined ? undefined : Number(line) }
}

const isAt = (row: Row, line: number | undefined): boolean =>
  line !== undefined &&
  ((row.kind === "line" && row.line.after === line) || (row.kind === "pair" && row.right?.after === line))

/** A line in the colours of its file. They are made of the lines that the diff shows. */
const Coloured = ({ diff, line }: { readonly diff: FileDiff; readonly line: Line }) => {
  const side = line.kind === "delete" ? "before" : "after"
  const { places, text } = useMemo(() => sideOnce(diff, side), [diff, side])
  const lines = useHighlight(languageOfFile(diff.path), text)
  const place = places.get(line[side] ?? -1)
  return <LineText line={line} spans={place === undefined ? undefined : lines?.[place]} />
}

const sides = new WeakMap<FileDiff, Partial<Record<"before" | "after", ReturnType<typeof sideOf>>>>()

/** Many lines ask for the side of one file. */
const sideOnce = (diff: FileDiff, side: "before" | "after") => {
  const known = sides.get(diff) ?? {}
  const made = known[side] ?? sideOf(diff, side)
  sides.set(diff, { ...known, [side]: made })
  return made
}

const RowView = ({ row, ...given }: RowProps) => {
  switch (row.kind) {
    case "file":
      return <FileHead diff={row.diff} review={given.review} />
    case "hunk":
      return <p class="hunk">{row.header}</p>
    case "note":
      return <p class="hunk">{row.text}</p>
    case "line": {
      const { line, path } = row
      const diff = given.files[row.file] as FileDiff
      return (
        <>
          <div class={`diff-line ${line.kind}`}>
            <LineNumber line={line} path={path} side="before" {...given} />
            <LineNumber line={line} path={path} side="after" {...given} />
            <Coloured diff={diff} line={line} />
          </div>
          <CommentOf path={path} line={line} {...given} />
        </>
      )
    }
    case "pair": {
      const { left, path, right } = row
      const diff = given.files[row.file] as FileDiff
      return (
        <>
          <div class="diff-pair">
            <Half diff={diff} line={left} path={path} side="before" {...given} />
            <Half diff={diff} line={right} path={path} side="after" {...given} />
          </div>
          {left !== null && left.kind === "delete" && <CommentOf path={path} line={left} {...given} />}
          {right !== null && <CommentOf path={path} line={right} {...given} />}
        </>
      )
    }
  }
}

const FileHead = ({
  diff: { additions, deletions, oldPath, path },
  review
}: {
  readonly diff: FileDiff
  readonly review: Review
}) => (
  <div class="file-head">
    <code>{oldPath === null ? path : `${oldPath} → ${path}`}</code>
    <span class="delta">
      <ins>+{additions}</ins> <del>−{deletions}</del>
    </span>
    <label>
      <input
        type="checkbox"
        checked={review.viewed.value.has(path)}
        onChange={({ currentTarget }) => review.markViewed(path, currentTarget.checked)}
      />{" "}
      Viewed
    </label>
  </div>
)

type LineProps = Omit<RowProps, "row"> & { readonly path: string; readonly side: "before" | "after" }

const Half = ({ diff, line, ...given }: LineProps & { readonly diff: FileDiff; readonly line: Line | null }) =>
  line === null ? (
    <div class="diff-line none" />
  ) : (
    <div class={`diff-line ${line.kind}`}>
      <LineNumber line={line} {...given} />
      <Coloured diff={diff} line={line} />
    </div>
  )

/** The number of a line. A press on it begins a comment. */
const LineNumber = ({ line, path, side, writing }: LineProps & { readonly line: Line }) => {
  const number = line[side]
  const place = placeOf(path, line)
  if (number === null || place === undefined) return <span class="number" />
  const begins = side === place.side
  return begins ? (
    <button
      type="button"
      class="number"
      aria-label={`Comment on ${path}, ${side === "after" ? "line" : "old line"} ${number}`}
      onClick={() => (writing.value = placeKey(place))}
    >
      {number}
    </button>
  ) : (
    <span class="number">{number}</span>
  )
}

const placeOf = (path: string, { after, before, kind }: Line): Place | undefined => {
  const side = kind === "delete" ? "before" : "after"
  const number = side === "after" ? after : before
  return number === null ? undefined : { path, side, number }
}

const CommentOf = ({ comments, line, path, review, writing }: Omit<LineProps, "side"> & { readonly line: Line }) => {
  const place = placeOf(path, line)
  if (place === undefined) return null
  const key = placeKey(place)
  const known = comments.get(key)
  if (writing.value === key)
    return (
      <form
        class="comment"
        onSubmit={(event) => {
          event.preventDefault()
          const text = new FormData(event.currentTarget).get("text")
          review.comment({ ...place, quote: line.text, text: typeof text === "string" ? text : "" })
          writing.value = undefined
        }}
      >
        <textarea name="text" aria-label="Comment" rows={3} autofocus defaultValue={known?.text ?? ""} />
        <p>
          <button type="submit" class="primary small">
            Add comment
          </button>{" "}
          <button type="button" class="small" onClick={() => (writing.value = undefined)}>
            Cancel
          </button>
        </p>
      </form>
    )
  if (known === undefined) return null
  return (
    <div class="comment">
      <p>{known.text}</p>
      <p class="fine">
        <button type="button" class="link" onClick={() => (writing.value = key)}>
          Change
        </button>{" "}
        ·{" "}
        <button type="button" class="link" onClick={() => review.comment({ ...known, text: "" })}>
          Delete
        </button>
      </p>
    </div>
  )
}
