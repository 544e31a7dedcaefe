import "../styles/request.css"
import { useComputed, useSignal } from "@preact/signals"
import type { RequestThread } from "@reins/client"
import { useEffect, useMemo, useRef } from "preact/hooks"
import { useAction } from "../api/Loading.js"
import { useHighlight } from "../highlight/Highlight.js"
import { languageOfFile } from "../highlight/Languages.js"
import { useKeys } from "../palette/Keys.js"
import { placeOfHash } from "../route/Route.js"
import { Outcome } from "../ui/Basics.js"
import { VirtualList } from "../ui/VirtualList.js"
import { count } from "../words/Words.js"
import { filesOf } from "./DiffFiles.js"
import { LineText } from "./DiffLine.js"
import { type FileDiff, hasMore, inOrder, type Line, placeKey, type Row, rowsOf, sideOf, widerBy } from "./DiffRows.js"
import { FileTree } from "./FileTree.js"
import { CommentOf, type Draft, LineNumber, type LineProps } from "./LineComment.js"
import type { Comment, Review } from "./Review.js"
import type { Apply } from "./Suggestion.js"
import { placedThreads, type ThreadsBeside } from "./ThreadPlaces.js"
import { ThreadsOf } from "./ThreadsBeside.js"

/** The unchanged lines that a press shows around each change. */
const linesMore = 20

/** A diff of any length, with a tree of its files. */
export const DiffView = ({
  apply,
  around,
  diff,
  isReadOnly = false,
  isSplit,
  requestPath,
  review,
  threads = noThreads
}: {
  /** The threads of the forge about this diff, and the page that shows them all. */
  readonly threads?: ReadonlyArray<RequestThread> | undefined
  readonly requestPath?: string
  /** Writes a suggested change into the working tree. */
  readonly apply?: Apply | undefined
  /** True for readers who neither comment nor keep what they have viewed. */
  readonly isReadOnly?: boolean
  readonly diff: string
  /** Reads the diff of a file with so many unchanged lines around each change. */
  readonly around: (path: string, context: number) => Promise<{ readonly diff: string }>
  readonly isSplit: boolean
  readonly review: Review
}) => {
  const wider = useSignal<ReadonlyMap<string, FileDiff>>(new Map())
  const files = useMemo(
    () => inOrder(filesOf(diff)).map((file) => wider.value.get(file.path) ?? file),
    [diff, wider.value]
  )
  const action = useAction()
  const more = (path: string) =>
    action.run("more lines", async () => {
      const context = widerBy(wider.peek().get(path), linesMore)
      const file = filesOf((await around(path, context)).diff).find((each) => each.path === path)
      if (file !== undefined) wider.value = new Map([...wider.value, [path, { ...file, context }]])
    })
  const rows = useMemo(() => rowsOf(files, isSplit, review.viewed.value), [files, isSplit, review.viewed.value])
  const top = useSignal(0)
  const writing = useSignal<Draft | undefined>(undefined)
  const reveal = useRef<((index: number) => void) | undefined>(undefined)
  const comments = useComputed(() => new Map(review.comments.value.map((each) => [placeKey(each), each])))
  const seen = rows[top.value]?.file ?? 0
  const { beside, others } = useMemo(() => placedThreads(threads, files), [threads, files])
  const given = { beside, apply, isReadOnly, writing, comments: comments.value, review, files, more }
  const open = (index: number) => reveal.current?.(rows.findIndex((row) => row.kind === "file" && row.file === index))
  useKeys({
    n: () => open(Math.min(files.length - 1, seen + 1)),
    p: () => open(Math.max(0, seen - 1))
  })
  useEffect(() => {
    const wanted = placeOfHash()
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
        <Outcome of={action} />
        {others > 0 && (
          <p class="hunk">
            {count(others, "thread")} of the merge request {others === 1 ? "is" : "are"} not about a line of this diff.{" "}
            {requestPath !== undefined && <a href={requestPath}>See all threads</a>}
          </p>
        )}
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

const noThreads: ReadonlyArray<RequestThread> = []

interface RowProps {
  readonly row: Row
  readonly beside: ThreadsBeside
  readonly writing: { value: Draft | undefined }
  readonly comments: ReadonlyMap<string, Comment>
  readonly review: Review
  readonly files: ReadonlyArray<FileDiff>
  readonly more: (path: string) => void
  readonly apply: Apply | undefined
  readonly isReadOnly: boolean
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
      return <FileHead diff={row.diff} review={given.review} isReadOnly={given.isReadOnly} />
    case "hunk":
      return (
        <p class="hunk">
          {row.header}{" "}
          {!given.isReadOnly && hasMore(given.files[row.file] as FileDiff) && (
            <button type="button" class="link" onClick={() => given.more(given.files[row.file]?.path ?? "")}>
              Show {linesMore} more lines
            </button>
          )}
        </p>
      )
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
          <ThreadsOf path={path} line={line} beside={given.beside} />
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
          {left !== null && left.kind === "delete" && (
            <>
              <ThreadsOf path={path} line={left} beside={given.beside} />
              <CommentOf path={path} line={left} {...given} />
            </>
          )}
          {right !== null && (
            <>
              <ThreadsOf path={path} line={right} beside={given.beside} />
              <CommentOf path={path} line={right} {...given} />
            </>
          )}
        </>
      )
    }
  }
}

const FileHead = ({
  diff: { additions, deletions, oldPath, path },
  isReadOnly,
  review
}: {
  readonly diff: FileDiff
  readonly review: Review
  readonly isReadOnly: boolean
}) => (
  <div class="file-head">
    <code>{oldPath === null ? path : `${oldPath} → ${path}`}</code>
    <span class="delta">
      <ins>+{additions}</ins> <del>−{deletions}</del>
    </span>
    {!isReadOnly && (
      <label>
        <input
          type="checkbox"
          checked={review.viewed.value.has(path)}
          onChange={({ currentTarget }) => review.markViewed(path, currentTarget.checked)}
        />{" "}
        Viewed
      </label>
    )}
  </div>
)

const Half = ({ diff, line, ...given }: LineProps & { readonly diff: FileDiff; readonly line: Line | null }) =>
  line === null ? (
    <div class="diff-line none" />
  ) : (
    <div class={`diff-line ${line.kind}`}>
      <LineNumber line={line} {...given} />
      <Coloured diff={diff} line={line} />
    </div>
  )
