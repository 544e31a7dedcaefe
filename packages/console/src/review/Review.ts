import { type Signal, signal } from "@preact/signals"
import { keep, readKept } from "../ui/Kept.js"
import { type Place, placeKey } from "./DiffRows.js"

/** A comment of a person on a line. */
export interface Comment extends Place {
  /** The first line of several; absent for a single one. */
  readonly from?: number
  /** The lines that it is about. */
  readonly quote: string
  readonly text: string
}

/** The files of a changeset that a person has viewed, and the comments on its lines. This browser keeps them. */
export interface Review {
  readonly viewed: Signal<ReadonlySet<string>>
  readonly comments: Signal<ReadonlyArray<Comment>>
  readonly markViewed: (path: string, isViewed: boolean) => void
  /** Replaces what was said of the line; an empty text takes it back. */
  readonly comment: (comment: Comment) => void
  readonly forgetComments: () => void
}

/** The review of a changeset. */
export const reviewOf = (changesetId: string): Review => {
  const name = `reins.review.${changesetId}`
  const kept = read(name)
  const viewed = signal<ReadonlySet<string>>(new Set(kept.viewed))
  const comments = signal<ReadonlyArray<Comment>>(kept.comments)
  const store = () => keep(name, JSON.stringify({ viewed: [...viewed.value], comments: comments.value }))
  return {
    viewed,
    comments,
    markViewed: (path, isViewed) => {
      const next = new Set(viewed.value)
      if (isViewed) next.add(path)
      else next.delete(path)
      viewed.value = next
      store()
    },
    comment: (given) => {
      const others = comments.value.filter((each) => placeKey(each) !== placeKey(given))
      comments.value = given.text.trim() === "" ? others : [...others, given]
      store()
    },
    forgetComments: () => {
      comments.value = []
      store()
    }
  }
}

interface Kept {
  readonly viewed: ReadonlyArray<string>
  readonly comments: ReadonlyArray<Comment>
}

// Boundary: this page wrote what is kept.
const read = (name: string): Kept => JSON.parse(readKept(name) ?? '{"viewed":[],"comments":[]}') as Kept

/** The lines of a comment in words. */
export const linesIn = (from: number | undefined, number: number): string =>
  from === undefined || from === number ? `line ${number}` : `lines ${from} to ${number}`

const quoted = (quote: string): string =>
  quote.includes("\n")
    ? quote
        .split("\n")
        .map((line) => `> ${line}`)
        .join("\n")
    : `> ${quote.trim()}`

/** All comments as one message to the agent. */
export const messageOf = (comments: ReadonlyArray<Comment>): string =>
  [
    "Please see to these comments on your changes.",
    ...[...comments]
      .sort((one, other) => one.path.localeCompare(other.path) || one.number - other.number)
      .map(
        ({ from, number, path, quote, side, text }) =>
          `${path}, ${linesIn(from, number)}${side === "after" ? "" : " of the old text, which was deleted"}:\n${quoted(quote)}\n${text.trim()}`
      )
  ].join("\n\n")
