import { useAction } from "../api/Loading.js"
import { EditDiff } from "../tools/EditDiff.js"
import { Outcome } from "../ui/Basics.js"
import { type FileDiff, type Line, type Place, placeKey, placeOf } from "./DiffRows.js"
import { type Comment, linesIn, type Review } from "./Review.js"
import { type Apply, partsOf, suggestionFor } from "./Suggestion.js"

/** A comment that is being written. */
export interface Draft {
  /** The line, or the last one of several. */
  readonly place: Place
  /** The first line of several. */
  readonly from?: number
}

export interface LineProps {
  readonly writing: { value: Draft | undefined }
  readonly comments: ReadonlyMap<string, Comment>
  readonly review: Review
  readonly files: ReadonlyArray<FileDiff>
  readonly path: string
  readonly side: "before" | "after"
  readonly apply: Apply | undefined
  readonly isReadOnly: boolean
}

/** The draft with all lines up to a place. One of another file or side begins anew. */
const extended = (draft: Draft | undefined, place: Place): Draft => {
  if (draft === undefined || draft.place.path !== place.path || draft.place.side !== place.side) return { place }
  const numbers = [draft.from ?? draft.place.number, draft.place.number, place.number]
  return { place: { ...place, number: Math.max(...numbers) }, from: Math.min(...numbers) }
}

/** The text of the lines of a range, as far as the diff shows them. */
const linesBetween = (files: ReadonlyArray<FileDiff>, { number, path, side }: Place, from: number): string =>
  (files.find((file) => file.path === path)?.hunks ?? [])
    .flatMap(({ lines }) => lines)
    .filter((line) => {
      const at = line[side]
      return at !== null && at >= from && at <= number
    })
    .map(({ text }) => text)
    .join("\n")

/** The number of a line. A press on it begins a comment; one with Shift takes the comment to this line. */
export const LineNumber = ({ isReadOnly, line, path, side, writing }: LineProps & { readonly line: Line }) => {
  const number = line[side]
  const place = placeOf(path, line)
  if (number === null || place === undefined) return <span class="number" />
  const begins = side === place.side && !isReadOnly
  return begins ? (
    <button
      type="button"
      class="number"
      aria-label={`Comment on ${path}, ${side === "after" ? "line" : "old line"} ${number}`}
      onClick={({ shiftKey }) => {
        writing.value = shiftKey ? extended(writing.value, place) : { place }
      }}
    >
      {number}
    </button>
  ) : (
    <span class="number">{number}</span>
  )
}

export const CommentOf = ({
  apply,
  comments,
  files,
  line,
  path,
  review,
  writing
}: Omit<LineProps, "side" | "isReadOnly"> & { readonly line: Line }) => {
  const place = placeOf(path, line)
  if (place === undefined) return null
  const key = placeKey(place)
  const known = comments.get(key)
  if (writing.value !== undefined && placeKey(writing.value.place) === key) {
    const from = writing.value.from ?? known?.from
    const isRange = from !== undefined && from < place.number
    const quote = isRange ? linesBetween(files, place, from) : line.text
    return (
      <form
        class="comment"
        onSubmit={(event) => {
          event.preventDefault()
          const text = new FormData(event.currentTarget).get("text")
          review.comment({
            ...place,
            ...(isRange && { from }),
            quote,
            text: typeof text === "string" ? text : ""
          })
          writing.value = undefined
        }}
      >
        {isRange && <p class="fine">Comment on {linesIn(from, place.number)}</p>}
        <textarea name="text" aria-label="Comment" rows={3} autofocus defaultValue={known?.text ?? ""} />
        <p>
          <button type="submit" class="primary small">
            Add comment
          </button>{" "}
          {place.side === "after" && (
            <button type="button" class="small" onClick={({ currentTarget }) => suggest(currentTarget.form, quote)}>
              Suggest a change
            </button>
          )}{" "}
          <button type="button" class="small" onClick={() => (writing.value = undefined)}>
            Cancel
          </button>
        </p>
      </form>
    )
  }
  if (known === undefined) return null
  return (
    <div class="comment">
      {known.from !== undefined && <p class="fine">{linesIn(known.from, known.number)}</p>}
      <CommentText comment={known} apply={apply} applied={() => review.comment({ ...known, text: "" })} />
      <p class="fine">
        <button type="button" class="link" onClick={() => (writing.value = { place })}>
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

/** Puts the lines into the comment as a suggestion, to be changed there. */
const suggest = (form: HTMLFormElement | null, quote: string): void => {
  const field = form?.elements.namedItem("text")
  if (!(field instanceof HTMLTextAreaElement)) return
  const before = field.value === "" || field.value.endsWith("\n") ? field.value : `${field.value}\n`
  field.value = before + suggestionFor(quote)
  field.focus()
}

/** The words of a comment, and its suggestions as diffs. */
const CommentText = ({
  applied,
  apply,
  comment
}: {
  readonly comment: Comment
  readonly apply: Apply | undefined
  readonly applied: () => void
}) => {
  const action = useAction()
  return (
    <>
      {partsOf(comment.text).map((part, index) =>
        part.kind === "words" ? (
          <p key={`${index}`}>{part.text}</p>
        ) : (
          <div key={`${index}`} class="suggestion">
            <EditDiff edit={{ path: comment.path, before: comment.quote, after: part.text }} />
            {apply !== undefined && comment.side === "after" && (
              <p>
                <button
                  type="button"
                  class="primary small"
                  disabled={action.busy.value !== undefined}
                  onClick={() =>
                    action.run("the change", async () => {
                      await apply(comment, part.text)
                      applied()
                    })
                  }
                >
                  Apply
                </button>
              </p>
            )}
          </div>
        )
      )}
      <Outcome of={action} />
    </>
  )
}
